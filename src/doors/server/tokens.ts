/** Routes: the caller's own identity, and the tokens that admins give out. */
import { z } from 'zod'
import { PalimpsestError } from '../../model/errors.ts'
import {
  ADMINS,
  defineRoute,
  EVERYBODY,
  Next,
  named,
  nameSchema,
  PageQuery,
  pageOf,
  type Route,
  Time,
} from './route.ts'
import { ROLES, type TokenInfo } from './server-store.ts'

const TokenParam = { token: z.string().regex(/^t_[0-9a-f]{16}$/) }

const Token = named('Token', {
  id: z.string(),
  user: z.string(),
  role: z.enum(ROLES),
  name: z.string(),
  created_at: Time,
  last_used_at: Time.nullable(),
  revoked_at: Time.nullable(),
})

const me = defineRoute({
  method: 'get',
  path: '/me',
  summary: 'The identity of the caller',
  roles: EVERYBODY,
  answer: z.object({
    role: z.enum(ROLES),
    user: z.string().nullable(),
    name: z.string(),
    token: z.string().nullable(),
  }),
  async run({ caller }) {
    const { id, role, user, name } = caller
    return { role, user: user ?? null, name, token: id === 'local' ? null : id }
  },
})

const list = defineRoute({
  method: 'get',
  path: '/tokens',
  summary: 'The tokens, newest first, without their secrets',
  roles: ADMINS,
  query: { limit: PageQuery.limit, cursor: TokenParam.token.optional() },
  answer: z.object({ tokens: z.array(Token), next: Next }),
  refusals: [404],
  async run({ query, doors }) {
    if (query.cursor !== undefined && !(await doors.store.token(query.cursor))) {
      throw new PalimpsestError('NOT_FOUND', 'This cursor is no longer valid. Start again without a cursor.')
    }
    const page = await pageOf(query, 'id', page => doors.store.tokens(page))
    return { tokens: page.items.map(toOut), next: page.next }
  },
})

const create = defineRoute({
  method: 'post',
  path: '/tokens',
  summary: 'Create a token; only this response has its secret',
  roles: ADMINS,
  body: z.strictObject({
    user: nameSchema(100),
    role: z.enum(ROLES),
    name: nameSchema(100).optional().describe('A name for the token; for an agent, the name on its proposals.'),
  }),
  answer: Token.extend({ secret: z.string() }),
  status: 201,
  // A kept answer would store the secret.
  unkeyed: true,
  async run({ body, doors }) {
    const { user, role, name = defaultName(role) } = body
    const { token, ...info } = await doors.store.createToken({ user, role, name, at: doors.clock() })
    return { ...toOut(info), secret: token }
  },
})

const revoke = defineRoute({
  method: 'delete',
  path: '/tokens/{token}',
  summary: 'Revoke a token at once and permanently',
  roles: ADMINS,
  params: TokenParam,
  answer: Token,
  async run({ params, doors }) {
    return toOut(await doors.store.revokeToken(params.token, doors.clock()))
  },
})

export const tokenRoutes: readonly Route[] = [me, list, create, revoke]

/** An agent's proposals need a name. */
export function defaultName(role: TokenInfo['role']): string {
  return role === 'agent' ? 'agent' : ''
}

function toOut(info: TokenInfo): z.input<typeof Token> {
  const { createdAt, lastUsedAt, revokedAt, ...rest } = info
  return { ...rest, created_at: createdAt, last_used_at: lastUsedAt, revoked_at: revokedAt }
}
