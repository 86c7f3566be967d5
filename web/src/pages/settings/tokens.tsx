/** Users and their tokens: lists, creates and revokes them. */

import { type FormEvent, useState } from 'react'
import { getJson, sendJson } from '../../api.ts'
import type { Token } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/failure.tsx'
import { ago } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { useToasts } from '../../ui/toast.tsx'

type NewToken = { user: string; role: Token['role'] }

const ROLES: [Token['role'], string][] = [
  ['user', 'user: their own sessions and memory'],
  ['agent', 'agent: the same, but cannot decide'],
  ['admin', 'admin: everything'],
]

export function Tokens() {
  const tokens = useResource('tokens', signal => getJson('/tokens', { signal }))
  const [made, setMade] = useState<Token & { secret: string }>()
  const { show, fail } = useToasts()
  const act = (work: () => Promise<unknown>) => work().then(tokens.reload, fail)
  const revoke = (token: Token) =>
    act(async () => {
      await sendJson('DELETE', '/tokens/{token}', { params: { token: token.id } })
      show({ text: `The token of ${token.user} was revoked.` })
    })
  const create = (body: NewToken) => act(async () => setMade(await sendJson('POST', '/tokens', { body })))
  const live = tokens.value?.tokens.filter(({ revoked_at }) => revoked_at === null) ?? []
  return (
    <section id="users" aria-labelledby="users-title">
      <header className="settings-head">
        <h2 id="users-title">Users and tokens</h2>
        <p>
          Requests from this machine need no token; all others do. A token gives access to the sessions of its user.
        </p>
      </header>
      {tokens.error !== undefined && <Failure error={tokens.error} retry={tokens.reload} />}
      <ul className="card setting-list">
        {live.map(token => (
          <li key={token.id} className="setting">
            <div>
              <b>
                <InlineText text={token.user} />
              </b>{' '}
              {token.name && <InlineText text={token.name} />} <span className="badge">{token.role}</span>
            </div>
            <span className="dim">
              {token.last_used_at === null ? 'never used' : `used ${ago(token.last_used_at, Date.now())}`}
            </span>
            <span className="setting-end">
              <Button
                small
                kind="danger"
                label={`Revoke the token of ${token.user}`}
                onClick={() => void revoke(token)}
              >
                Revoke
              </Button>
            </span>
          </li>
        ))}
        <li>
          <TokenForm onCreate={create} />
        </li>
      </ul>
      {made && (
        <Dialog title={`The token of ${made.user}`} onClose={() => setMade(undefined)}>
          <p>It is shown only once. Anyone who has it can act as {made.user}.</p>
          <p>
            <code className="token-secret">{made.secret}</code>
          </p>
        </Dialog>
      )}
    </section>
  )
}

function TokenForm({ onCreate }: { onCreate(body: NewToken): Promise<unknown> }) {
  const [user, setUser] = useState('')
  const [role, setRole] = useState<Token['role']>('user')
  const create = async (event: FormEvent) => {
    event.preventDefault()
    await onCreate({ user: user.trim(), role })
    setUser('')
  }
  return (
    <form className="token-form" onSubmit={event => void create(event)}>
      <label>
        <span>User</span>
        <input value={user} maxLength={100} onChange={event => setUser(event.target.value)} />
      </label>
      <label>
        <span>Role</span>
        <select value={role} onChange={event => setRole(event.target.value as Token['role'])}>
          {ROLES.map(([key, label]) => (
            <option key={key} value={key}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <Button type="submit" disabled={user.trim() === ''}>
        Create a token
      </Button>
    </form>
  )
}
