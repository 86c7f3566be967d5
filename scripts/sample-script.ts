/**
 * The script of the sample session: the user's three requests, and the answers and calls of the model, step by step.
 *
 * It contains only words. The agent really runs the calls on the project (sample-project.ts), and the edits of the
 * engine are not written here.
 */

export type Call = { name: string; input: Record<string, unknown> }

export type Step = {
  say: string
  /** `ids` are those that the model sees at the ends of large results, oldest first. */
  call?: Call | ((ids: readonly string[]) => Call)
  /** How long the tool takes on the clock of the session. */
  seconds?: number
}

export type Turn = {
  request: string
  /** Minutes since the last answer. */
  pause: number
  steps: readonly Step[]
}

const run = (command: string): Call => ({ name: 'run_command', input: { command } })
const read = (path: string): Call => ({ name: 'read_file', input: { path } })
const write = (path: string, content: string): Call => ({ name: 'write_file', input: { path, content } })
const edit = (path: string, old_string: string, new_string: string, intent: string): Call => ({
  name: 'edit_file',
  input: { path, old_string, new_string, intent },
})

const SUNDAY_TEST = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { weeklyReport } from '../src/report.js'

test('the report of a week has its Sunday', () => {
  const { rows } = weeklyReport('2026-05-20')
  assert.equal(rows.length, 7)
  assert.equal(rows.at(-1).weekday, 'Sunday')
})

test('the Monday after it is not in it', () => {
  const monday = { id: 1, day: '2026-05-25', product: 'Salt', category: 'pantry', quantity: 1, cents: 190 }
  assert.deepEqual(weeklyReport('2026-05-20', [monday]).rows, [])
})
`

const CSV_CODE = `/** A report as CSV for a spreadsheet: semicolons, a comma as the decimal mark, one line for each day. */
import { CATEGORIES } from './report.js'
import { amount } from './table.js'

const HEAD = ['day', 'weekday', 'orders', ...CATEGORIES]

/** Several reports in one file have one head. */
export function toCsv(reports) {
  const lines = reports.flatMap(({ rows }) => rows.map(lineOf))
  return [HEAD, ...lines].map(line => line.join(';')).join('\\n')
}

function lineOf({ day, weekday, orders, cents }) {
  return [day, weekday, orders, ...CATEGORIES.map(category => amount(cents[category]))]
}
`

const CSV_TEST = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toCsv } from '../src/csv.js'
import { weeklyReport } from '../src/report.js'

test('a week as CSV has a head and seven days', () => {
  const lines = toCsv([weeklyReport('2026-05-20')]).split('\\n')
  assert.equal(lines[0], 'day;weekday;orders;drinks;pantry;household')
  assert.equal(lines.length, 8)
})

test('amounts have a comma as the decimal mark', () => {
  const order = { id: 1, day: '2026-05-20', product: 'Oil', category: 'pantry', quantity: 1, cents: 1250 }
  assert.match(toCsv([weeklyReport('2026-05-20', [order])]), /;0,00;12,50;0,00$/)
})

test('several weeks share one head', () => {
  const text = toCsv([weeklyReport('2026-05-13'), weeklyReport('2026-05-20')])
  assert.equal(text.match(/weekday/g).length, 1)
  assert.equal(text.split('\\n').length, 15)
})
`

const BUILD_TEST = `import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

test('a page comes from the cache until its orders change', t => {
  const folder = mkdtempSync(join(tmpdir(), 'build-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const name of ['package.json', 'src', 'scripts', 'data']) cpSync(name, join(folder, name), { recursive: true })
  const build = () => execFileSync('node', ['scripts/build.js'], { cwd: folder, encoding: 'utf8' }).trim()
  assert.equal(build(), '160 pages, 0 from the cache')
  assert.equal(build(), '160 pages, 160 from the cache')
  appendFileSync(join(folder, 'data/orders.csv'), '99999;2026-05-24;Salt;pantry;1;190\\n')
  assert.equal(build(), '160 pages, 158 from the cache')
})
`

const SUNDAY: Turn = {
  request: 'The weekly report leaves out Sunday. Find out why, fix it, and prove it with a test.',
  pause: 0,
  steps: [
    {
      say: 'I look around first.',
      call: { name: 'list_files', input: { depth: 2 } },
    },
    { say: '', call: read('README.md') },
    { say: 'The report itself is made in `src/report.js`.', call: read('src/report.js') },
    { say: '', call: read('src/dates.js') },
    { say: 'Now the tests as they are, before I change anything.', call: run('node --run test'), seconds: 3 },
    {
      say: 'All twelve pass, so none of them covers Sunday. The report of last week should show the gap.',
      call: run('node src/cli.js 2026-05-20'),
    },
    {
      say: 'Monday to Saturday; Sunday the 24th is missing. The nightly job logs what it selects.',
      call: run('cat logs/reports.log'),
    },
    {
      say: 'Every run selects the days before the Sunday of its week, so the end is one day early in all twenty weeks. How does the selection treat its end?',
      call: read('src/orders.js'),
    },
    {
      say: 'The end is exclusive, by contract and by test. I have what I need of the log, so I keep one line of it in my context.',
      call: ids => ({
        name: 'context',
        input: {
          action: 'distill',
          targets: [
            [
              ids.at(-1),
              'logs/reports.log: 20 runs (4100–4119), one a week. Each selects day >= Monday and day < Sunday of its week and finds days=6, e.g. "select day >= 2026-05-18 and day < 2026-05-24". No errors, nothing else of note.',
            ],
          ],
        },
      }),
    },
    { say: 'First a test that fails for this reason.', call: write('test/sunday.test.js', SUNDAY_TEST) },
    { say: '', call: run('node --run test'), seconds: 3 },
    { say: 'It fails as it should. I look at the lines once more before I change them.', call: read('src/report.js') },
    {
      say: '`addDays(from, 6)` is Sunday itself, which the selection leaves out. The end of a week is the next Monday.',
      call: edit(
        'src/report.js',
        '  const to = addDays(from, 6)\n',
        '  const to = addDays(from, 7)\n',
        'the end of a week is exclusive, so that Sunday is in it',
      ),
    },
    { say: '', call: run('node --run test'), seconds: 3 },
    { say: 'All pass. And the report of last week:', call: run('node src/cli.js 2026-05-20') },
    {
      say: 'Sunday is back.\n\n- **Why:** `weeklyReport` ended the week with `addDays(from, 6)`, which is Sunday, and `ordersBetween` leaves its end out. So every report stopped at Saturday.\n- **Fix:** one number in `src/report.js`; a week now ends with the next Monday.\n- **Proof:** `test/sunday.test.js` failed before the change and passes now, with the twelve that were there.\n\nThe reports of the last twenty weeks were sent without their Sundays. They can be made again with `node src/cli.js --all`.',
    },
  ],
}

const CSV: Turn = {
  request:
    'Thank you. Also export it as CSV, one line for each day. Our spreadsheet wants semicolons and a comma as the decimal mark; that goes for every export, so please remember it.',
  pause: 3,
  steps: [
    { say: 'I look at how the report becomes text now.', call: read('src/table.js') },
    { say: '', call: read('src/cli.js') },
    {
      say: 'Who else uses the table? The pages may want the same.',
      call: { name: 'search_files', input: { query: 'toTable', glob: '*.js' } },
    },
    {
      say: 'The CSV gets a file of its own beside the table.',
      call: write('src/csv.js', CSV_CODE),
    },
    {
      say: 'Now the option on the command line.',
      call: edit(
        'src/cli.js',
        '  for (const day of days) console.log(toTable(weeklyReport(day)))\n',
        "  const reports = days.map(day => weeklyReport(day))\n  if (args.includes('--csv')) return console.log(toCsv(reports))\n  for (const report of reports) console.log(toTable(report))\n",
        'reports can be exported as CSV',
      ),
    },
    {
      say: '',
      call: edit(
        'src/cli.js',
        "import { startOfWeek } from './dates.js'\n",
        "import { toCsv } from './csv.js'\nimport { startOfWeek } from './dates.js'\n",
        'reports can be exported as CSV',
      ),
    },
    {
      say: 'A test from your words: semicolons, a decimal comma, seven days.',
      call: write('test/csv.test.js', CSV_TEST),
    },
    { say: '', call: run('node --run test'), seconds: 3 },
    {
      say: 'The test caught it: `amount` writes a point, which is right for the table. In the CSV I replace it.',
      call: edit(
        'src/csv.js',
        'CATEGORIES.map(category => amount(cents[category]))]',
        "CATEGORIES.map(category => amount(cents[category]).replace('.', ','))]",
        'a comma is the decimal mark of the spreadsheet',
      ),
    },
    { say: '', call: run('node --run test'), seconds: 3 },
    { say: 'All seventeen pass. The whole export, once, with my own eyes:', call: run('node src/cli.js --all --csv') },
    {
      say: '140 days, Sundays included. The README should say so.',
      call: edit(
        'README.md',
        'node src/cli.js --all             # every week there is\n',
        'node src/cli.js --all             # every week there is\nnode src/cli.js --all --csv       # the same for a spreadsheet: semicolons, decimal comma\n',
        'how to export as CSV',
      ),
    },
    {
      say: 'You asked me to remember the format. What is there already?',
      call: { name: 'list_memory_blocks', input: {} },
    },
    {
      say: '',
      call: {
        name: 'propose_memory_block',
        input: {
          block_label: 'exports',
          title: 'Exports',
          body: '## Format of every export\n\n- CSV with **semicolons** between fields\n- a **comma** as the decimal mark (12,50)\n- one head line, one line for each day\n',
          reasoning: 'You said that your spreadsheet wants this for every export, and asked me to remember it.',
          confidence: 'high',
        },
      },
    },
    {
      say: '`node src/cli.js 2026-05-20 --csv` exports a week, `--all --csv` all of them: semicolons, decimal comma, one line for each day. Three tests cover it, and the README names it.\n\nI have proposed a memory block with the format. It counts from the moment you approve it.',
    },
  ],
}

const BUILD: Turn = {
  request: 'Last night the build took eleven minutes instead of a second, with no new orders. Why? Please mend it.',
  pause: 48,
  steps: [
    { say: 'The log of the night first.', call: run('cat logs/nightly.log') },
    {
      say: 'Every one of the 160 pages was a cache miss, though the cache held all 160 of the build before. So their keys must change from build to build.',
      call: read('scripts/build.js'),
    },
    {
      say: '`keyOf` hashes the present time together with the orders, so no two builds share a key. I prove it: two builds in a row.',
      call: run('node scripts/build.js --verbose'),
      seconds: 6,
    },
    { say: '', call: run('node scripts/build.js --verbose'), seconds: 6 },
    {
      say: 'Nothing from the cache, though nothing has changed. The key may hold only what the page is made from.',
      call: edit(
        'scripts/build.js',
        '  const made = { name, orders, at: process.hrtime.bigint().toString() }\n  return',
        '  const made = { name, orders }\n  return',
        'the key of a page holds only what the page is made from, so that it is found again',
      ),
    },
    { say: '', call: run('node scripts/build.js --verbose'), seconds: 6 },
    { say: '', call: run('node scripts/build.js --verbose'), seconds: 1 },
    {
      say: 'The second build takes all 160 pages from the cache. But is a page made anew when its orders do change? A test for both.',
      call: write('test/build.test.js', BUILD_TEST),
    },
    { say: '', call: run('node --run test'), seconds: 4 },
    { say: 'What has changed in all, before I sum it up:', call: read('scripts/build.js') },
    {
      say: 'The build never used its cache: `keyOf` in `scripts/build.js` hashed the present time with the orders, so every page had a new key every night.\n\n- **Fix:** the key holds the page’s name and its orders, nothing else. A build without changes takes all 160 pages from the cache.\n- **Proof:** `test/build.test.js` builds three times; one new order makes two pages anew, its day and its week.\n- **To know:** tonight’s build makes every page once more, then only those whose orders have changed. A change of the code is not in the key: delete `.cache` after one.',
    },
  ],
}

export const TURNS: readonly [Turn, Turn, Turn] = [SUNDAY, CSV, BUILD]
