/** `token`: creates, lists and revokes tokens for the server. The secret is printed once and stored only as a hash. */
import { PalimpsestError } from '../../model/errors.ts'
import type { Role, ServerStore, TokenInfo } from '../server/server-store.ts'
import { type Context, defineCommand, type Report } from '../terminal/command.ts'
import { printable, table, timeOf } from '../terminal/output.ts'

const OPTIONS = {
  user: { type: 'string', value: 'USER', about: 'create: the user that the token is for' },
  role: { type: 'string', value: 'ROLE', about: 'create: user, agent or admin' },
  name: {
    type: 'string',
    value: 'NAME',
    about: 'create: a name for the token; for an agent, the name on its proposals',
  },
} as const

export const token = defineCommand({
  name: 'token',
  summary: 'create, list and revoke tokens for the server',
  usage: 'create|list|revoke [ID]',
  details:
    "A user's token gives access to that user's data. An agent's token can read and propose for its user, but not decide.\n" +
    "An admin's token gives access to everything. create prints the token last; it cannot be shown again.",
  examples: [
    'palimpsest token create --user alice --role user',
    'palimpsest token create --user alice --role agent --name tutor',
    'palimpsest token list',
    'palimpsest token revoke t_1f0c2a915b77e013',
  ],
  options: OPTIONS,
  async run(context) {
    const { openServerStore, ROLES } = await import('../server/server-store.ts')
    const store = await openServerStore(context.home, context.io.env)
    try {
      const [action, id] = context.args
      if (action === 'create' && id === undefined) return await create(store, context, ROLES)
      if (action === 'list' && id === undefined) return await list(store)
      if (action === 'revoke' && id !== undefined) return await revoke(store, id)
      throw new PalimpsestError('INVALID_INPUT', 'Use token create, token list, or token revoke with an id.', {
        action,
      })
    } finally {
      await store.close()
    }
  },
})

async function create(
  store: ServerStore,
  { values }: Context<typeof OPTIONS>,
  roles: readonly Role[],
): Promise<Report> {
  const { user } = values
  const role = roles.find(known => known === values.role)
  if (!role)
    throw new PalimpsestError('INVALID_INPUT', `--role must be one of ${roles.join(', ')}.`, { role: values.role })
  if (user === undefined) throw new PalimpsestError('INVALID_INPUT', 'Name the user of the token with --user.')
  const { checkUser } = await import('../../memory/checks.ts')
  checkUser(user)
  const name = values.name ?? (role === 'agent' ? 'agent' : '')
  if (name !== '') checkUser(name)
  const { token: secret, ...info } = await store.createToken({ user, role, name, at: Date.now() })
  return {
    json: { ...info, token: secret },
    *text(paint) {
      yield `${paint.bold(info.id)}  ${role} of ${printable(user)}${name ? ` (${printable(name)})` : ''}`
      yield secret
    },
    notes: ['Keep it: it cannot be shown again.'],
  }
}

async function list(store: ServerStore): Promise<Report> {
  const tokens: TokenInfo[] = []
  for (let page = await store.tokens(); page.length > 0; page = await store.tokens({ after: tokens.at(-1)!.id })) {
    tokens.push(...page)
  }
  return {
    json: { tokens },
    text: paint => table(['ID', 'ROLE', 'USER', 'NAME', 'CREATED', 'LAST USED', 'STATE'], tokens.map(toCells), paint),
    notes: tokens.length === 0 ? ['There are no tokens. Create one: palimpsest token create'] : [],
  }
}

async function revoke(store: ServerStore, id: string): Promise<Report> {
  const revoked = await store.revokeToken(id, Date.now())
  return { json: revoked, text: () => `Revoked ${id}, ${revoked.role} of ${printable(revoked.user)}.\n` }
}

function toCells({ id, role, user, name, createdAt, lastUsedAt, revokedAt }: TokenInfo): string[] {
  const used = lastUsedAt === null ? '' : timeOf(lastUsedAt)
  const state = revokedAt === null ? 'good' : `revoked ${timeOf(revokedAt)}`
  return [id, role, printable(user), printable(name), timeOf(createdAt), used, state]
}
