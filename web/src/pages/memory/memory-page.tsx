/** Memory: what agents know about a user, and the changes that they propose. Only the user decides. */
import { useMemo, useState } from 'react'
import { useLive } from '../../live.ts'
import { useResource } from '../../resource.ts'
import { replaceQuery, useRoute } from '../../route.ts'
import { useEvery } from '../../ui/every.ts'
import { Failure } from '../../ui/failure.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Blocks } from './blocks.tsx'
import { Inbox } from './inbox.tsx'
import { readUsers } from './memory-api.ts'
import '../../ui/notice.css'
import './memory.css'

type Tab = 'inbox' | 'blocks'

const LOOK_MS = 5000

export function MemoryPage() {
  const { query } = useRoute()
  const users = useResource('users', readUsers)
  const user = query.get('user') ?? users.value?.own
  const [changes, setChanges] = useState(0)
  useLive(event => {
    const isOurs = event.type === 'reset' || ('user' in event && event.user === user)
    if (isOurs) setChanges(old => old + 1)
    if (event.type.startsWith('proposal.') || event.type === 'reset') users.reload()
  })
  // Other processes (MCP over stdio, the command line) make proposals without the server, so the page polls.
  useEvery(LOOK_MS, () => {
    setChanges(old => old + 1)
    users.reload()
  })
  const tab: Tab = query.get('tab') === 'blocks' ? 'blocks' : 'inbox'
  const open = users.value?.users.find(one => one.user === user)?.open ?? 0
  const names = useMemo(() => {
    const known = users.value?.users.map(one => one.user) ?? []
    return user === undefined || known.includes(user) ? known : [user, ...known]
  }, [users.value, user])
  return (
    <>
      <header className="page-head">
        <h1>Memory</h1>
        {names.length > 1 && (
          <label className="memory-user">
            <span>of</span>
            <select value={user} onChange={event => replaceQuery({ user: event.target.value, id: undefined })}>
              {names.map(name => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
      </header>
      {users.error !== undefined && <Failure error={users.error} retry={users.reload} />}
      {user !== undefined && (
        <Tabs
          label="Memory"
          chosen={tab}
          onChoose={key => replaceQuery({ tab: key === 'inbox' ? undefined : key, id: undefined })}
          tabs={[
            {
              key: 'inbox',
              label: 'Proposals',
              ...(open > 0 ? { badge: String(open) } : {}),
              content: <Inbox key={user} user={user} changes={changes} />,
            },
            { key: 'blocks', label: 'Blocks', content: <Blocks key={user} user={user} changes={changes} /> },
          ]}
        />
      )}
    </>
  )
}
