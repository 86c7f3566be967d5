/**
 * A small session for tests: an agent finds and fixes a bug in a report that drops its last day, in 17 entries.
 *
 * It has what real sessions have: a file that is read twice, noise of an installation, a log that is far too long,
 * an edit with its intent. The agent and the user have each edited what is shown. The content never changes.
 */

import type { Message, Part } from '../src/model/types.ts'
import type { Palimpsest } from '../src/session/engine.ts'
import type { Session } from '../src/session/session.ts'

export const SMALL = 'small'

const START = Date.UTC(2026, 4, 18, 9, 30)
const STEP = 20_000

/** The small session in a home, created if it is missing. */
export async function openSmall(pal: Palimpsest): Promise<Session> {
  const session = await pal.session(SMALL, { model: 'claude-sonnet-4-5', policy: 'none' })
  if (session.fold.entries.length === 0) await fill(session)
  return session
}

async function fill(session: Session): Promise<void> {
  await session.append(...smallMessages())
  const log = { start: LOG_LINES[0]!, end: LOG_LINES.at(-1)!, replacement: LOG_SUMMARY }
  await session.edit([log], 'agent')
  const parts = await session.parts()
  const again = parts.find(part => part.entry === SECOND_READ && part.kind === 'tool-result')
  if (again) await session.edit([{ discard: again.hash }], 'user')
  await session.pin(REQUEST, { by: 'user' })
}

/** Entries that are edited or pinned below. */
const REQUEST = 1
const SECOND_READ = 9

export function smallMessages(): Message[] {
  const messages = [
    said('system', 'You are a careful engineer. Read before you change, and run the tests after.'),
    said('user', 'The weekly report leaves out Sunday. Find out why, fix it, and prove it with a test.'),
    called('I start with the code that builds the report.', 'c1', 'read_file', { path: 'src/report.ts' }),
    answered('c1', 'read_file', REPORT_BEFORE),
    called('Now the tests, as they are.', 'c2', 'run_command', { command: 'npm ci && npm test' }),
    answered('c2', 'run_command', TESTS_BEFORE),
    called('They pass, so none covers Sunday. The server log may show the query.', 'c3', 'run_command', {
      command: 'cat logs/server.log',
    }),
    answered('c3', 'run_command', `${LOG_LINES.join('\n')}\nExit code: 0`),
    called('The query ends a day early. I look at the code once more.', 'c4', 'read_file', {
      path: 'src/report.ts',
    }),
    answered('c4', 'read_file', REPORT_BEFORE),
    called('`to` is exclusive in the database, but inclusive here.', 'c5', 'edit_file', {
      path: 'src/report.ts',
      old_string: 'const to = addDays(from, 6)',
      new_string: 'const to = addDays(from, 7)',
      intent: 'the upper end of the week is exclusive, so that Sunday is in it',
    }),
    answered('c5', 'edit_file', 'Edited src/report.ts: 1 replacement.'),
    called('And a test that fails without it.', 'c6', 'write_file', {
      path: 'test/report-week.test.ts',
      content: NEW_TEST,
      intent: 'a test for the last day of the week',
    }),
    answered('c6', 'write_file', 'Wrote test/report-week.test.ts.'),
    called('', 'c7', 'run_command', { command: 'npm test' }),
    answered('c7', 'run_command', TESTS_AFTER),
    said(
      'assistant',
      'Sunday is back: the upper end of the week was one day short. A new test covers it; all 15 pass.',
    ),
  ]
  return messages.map((message, i) => ({ ...message, at: START + i * STEP }))
}

function said(role: 'system' | 'user' | 'assistant', text: string): Message {
  return { role, parts: [{ type: 'text', text }] }
}

function called(text: string, id: string, name: string, input: unknown): Message {
  const call: Part = { type: 'tool-call', id, name, input }
  return { role: 'assistant', parts: text === '' ? [call] : [{ type: 'text', text }, call] }
}

function answered(id: string, name: string, output: string): Message {
  return { role: 'tool', parts: [{ type: 'tool-result', id, name, output }] }
}

const REPORT_BEFORE = `import { addDays, startOfWeek } from './dates.ts'
import { query } from './database.ts'

export type Row = { day: string; orders: number; total: number }

/** One row for each day of the week that holds \`date\`. */
export async function weeklyReport(date: Date): Promise<Row[]> {
  const from = startOfWeek(date)
  const to = addDays(from, 6)
  return query<Row>(
    'SELECT day, count(*) AS orders, sum(total) AS total FROM orders WHERE day >= ? AND day < ? GROUP BY day',
    [from, to],
  )
}

export function toCsv(rows: Row[]): string {
  return ['day,orders,total', ...rows.map(row => [row.day, row.orders, row.total].join(','))].join('\\n')
}
`

const NEW_TEST = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { weeklyReport } from '../src/report.ts'

test('the report of a week has its Sunday', async () => {
  const rows = await weeklyReport(new Date('2026-05-13'))
  assert.equal(rows.at(-1)?.day, '2026-05-17')
})
`

const INSTALL = [
  'left-trim 2.0.1',
  'fast-lists 1.4.0',
  'old-glob 7.2.3',
  'tiny-rimraf 3.0.2',
  'callbacks 0.9.8',
  'mini-http 4.1.0',
]
  .map(
    name =>
      `npm warn deprecated ${name.replace(' ', '@')}: this version is no longer supported, please update to the next major`,
  )
  .join('\n')

const TESTS_BEFORE = `${INSTALL}
added 212 packages in 9s

> shop-reports@2.3.0 test
> node --test

✔ dates: weeks start on Monday (2.1ms)
✔ dates: adding days crosses months (0.4ms)
✔ report: a day without orders has no row (8.7ms)
✔ csv: one line per row (0.3ms)
… 10 more
ℹ tests 14
ℹ pass 14
ℹ fail 0
Exit code: 0`

const TESTS_AFTER = `> shop-reports@2.3.0 test
> node --test

✔ the report of a week has its Sunday (9.2ms)
✔ dates: weeks start on Monday (2.0ms)
… 13 more
ℹ tests 15
ℹ pass 15
ℹ fail 0
Exit code: 0`

/** A log in the style of servers: the same few forms repeated, with the important line in the middle. */
const LOG_LINES = Array.from({ length: 180 }, (_, i) => logLine(i))

const LOG_SUMMARY =
  '[180 lines of the server log: health checks and order inserts; at 09:12:31 a slow query of the report with ' +
  'day >= 2026-05-11 and day < 2026-05-17]'

function logLine(i: number): string {
  const time = new Date(Date.UTC(2026, 4, 18, 9, 10) + i * 1687).toISOString()
  if (i === 90) return `${time} warn  slow query 1204ms report day >= 2026-05-11 AND day < 2026-05-17 rows=6`
  if (i % 3 === 0) return `${time} info  GET /health 200 ${(i % 7) + 1}ms`
  return `${time} info  POST /orders 201 ${(i % 40) + 12}ms order=${10_400 + i} items=${(i % 5) + 1} total=${(i % 90) + 9}.90`
}
