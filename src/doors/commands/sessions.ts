/** `sessions`: lists the sessions of a home. */

import { withCommas } from '../../model/text.ts'
import type { Palimpsest, SessionInfo } from '../../session/engine.ts'
import { everySession } from '../../session/every-session.ts'
import { defineCommand, numberOption } from '../terminal/command.ts'
import { printable, table, timeOf } from '../terminal/output.ts'

export const sessions = defineCommand({
  name: 'sessions',
  summary: 'list sessions, most recently used first',
  usage: '',
  examples: ['palimpsest sessions', 'palimpsest sessions --contains login --limit 5'],
  options: {
    limit: { type: 'string', value: 'N', about: 'the number of sessions to list (100)' },
    contains: { type: 'string', value: 'TEXT', about: 'only sessions with this text in their name, policy or model' },
    tag: { type: 'string', value: 'TAG', about: 'only sessions with this tag' },
    after: { type: 'string', value: 'SESSION', about: 'only sessions after this one in the list' },
  },
  async run({ values, openIfThere, home }) {
    const pal = await openIfThere()
    const limit = numberOption(values.limit, '--limit')
    const { contains, after } = values
    const wanted = { limit, contains, after }
    const list = !pal
      ? []
      : values.tag === undefined
        ? await pal.sessions(wanted)
        : await tagged(pal, values.tag, wanted)
    return {
      json: { sessions: list },
      text: paint => table(COLUMNS, list.map(toCells), paint),
      notes: list.length === 0 ? [`There are no sessions in ${home}.`] : [],
    }
  },
})

const COLUMNS = ['*SESSION', 'LAST USED', '>EVENTS', 'POLICY', 'MODEL', 'FORKED FROM', 'TAGS', 'TITLE']

type Wanted = { limit?: number; contains?: string; after?: string }

async function tagged(pal: Palimpsest, tag: string, { limit = 100, ...wanted }: Wanted): Promise<SessionInfo[]> {
  const list: SessionInfo[] = []
  for await (const session of everySession(pal, wanted)) {
    if (list.length >= limit) break
    if (session.about.tags?.includes(tag)) list.push(session)
  }
  return list
}

function toCells({
  id,
  updatedAt,
  length,
  policy,
  model,
  parent,
  about: { tags = [], title = '' },
}: SessionInfo): string[] {
  const use = [timeOf(updatedAt), withCommas(length), policy, printable(model)]
  return [printable(id), ...use, ...[parent?.id ?? '', tags.join(', '), title].map(one => printable(one))]
}
