/** Routes: the users with memory, and the available policies. */

import { z } from 'zod'
import { userIn } from '../../memory/open.ts'
import type { Environment } from '../../model/defaults.ts'
import { presets, seedPresets } from '../../planner/presets.ts'
import { defineRoute, EVERYBODY, named, nameSchema, type Route } from './route.ts'

/** The user for whom an agent without a token acts over MCP. */
export const NAMELESS = 'local'
const MOST = 500
const COUNTED = 200

const users = defineRoute({
  method: 'get',
  path: '/users',
  summary: 'Users whose memory the caller may manage, with the number of open proposals',
  description: `For an admin: all users with blocks or proposals (up to ${MOST}), and the person at this machine. For others: themselves.`,
  roles: EVERYBODY,
  answer: named('Users', {
    users: z.array(
      z.object({
        user: z.string(),
        blocks: z.number().describe(`${COUNTED} means this many or more.`),
        open: z.number().describe(`Waiting proposals; ${COUNTED} means this many or more.`),
      }),
    ),
    own: z.string().describe('The user to show first.'),
  }),
  async run({ caller, doors }) {
    const { store } = doors.memory
    const own = caller.user ?? ownName()
    const isAdmin = caller.role === 'admin'
    const names = isAdmin ? [...new Set([own, NAMELESS, ...(await store.users({ limit: MOST }))])] : [own]
    const found = []
    for (const user of names) {
      const blocks = (await store.blocks(user, { limit: COUNTED })).length
      const open = (await store.proposals(user, { state: 'open', limit: COUNTED })).length
      if (user === own || blocks + open > 0) found.push({ user, blocks, open })
    }
    return { users: found, own: first(found, own) }
  },
})

const ABOUT: Record<string, string> = {
  none: 'Sends everything, unedited.',
  thrifty: 'Shortens what is unlikely to be needed again, when that costs less than keeping it. The default.',
  agent:
    'Thrifty with additions for our own agent: reminders of the goal, huge results in files, a summary when the window is full.',
  'smart-history':
    'Replaces repeated reads by pointers, cuts long shell output, and summarises when the window fills up; every turn.',
  'clear-tool-uses': 'Clears old tool results above 80k tokens, after a warning; every turn.',
  'stale-output': 'Moves large results to files and shortens results older than 15 messages to one line; every turn.',
  'seed-000':
    'The numbers of document 000: results are cleared above 80k tokens with a warning, a summary is made above 100k.',
  'seed-001':
    'The numbers of document 001: long shell output is cut, the last 30 results of light tools are kept, a summary is made.',
  'seed-002': 'Document 002 is about memory: the context is unchanged.',
  'seed-003':
    'The numbers of document 003: large and old results go to files, with a reminder of the goal and a summary.',
  'seed-004': "Document 004 is about the agent's own replacements: the planner makes none.",
}

const policies = defineRoute({
  method: 'get',
  path: '/policies',
  summary: 'The policies that a session can use or be compared with',
  roles: EVERYBODY,
  answer: z.object({ policies: z.array(named('PolicyInfo', { name: z.string(), about: z.string() })) }),
  async run() {
    return { policies: [...presets, ...seedPresets].map(({ name }) => ({ name, about: ABOUT[name] ?? '' })) }
  },
})

export const userRoutes: readonly Route[] = [users, policies]

/** The name that the command line uses; replaced if it is not valid in a URL. */
export function ownName(env: Environment = process.env): string {
  const name = userIn(env)
  return nameSchema(100).safeParse(name).success ? name : NAMELESS
}

/** The caller's own memory, unless it is empty and another user's is not. */
function first(found: readonly { user: string; blocks: number; open: number }[], own: string): string {
  const isEmpty = found.every(({ user, blocks, open }) => user !== own || blocks + open === 0)
  const busiest = found.toSorted((a, b) => b.open - a.open || b.blocks - a.blocks)[0]
  return isEmpty && busiest && busiest.blocks + busiest.open > 0 ? busiest.user : own
}
