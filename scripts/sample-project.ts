/**
 * The project of the sample session: weekly reports of a small shop, with the bugs that the session finds.
 *
 * It really runs, and prints no times and no paths of this machine, so its output can be recorded twice and compared
 * byte for byte.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export async function writeProject(root: string): Promise<void> {
  for (const [path, text] of Object.entries(PROJECT)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
}

const FIRST_DAY = Date.UTC(2026, 0, 5)
const DAY = 86_400_000
const WEEKS = 20
const WEEK_PAGES = 8

const PRODUCTS = [
  ['Tea, green', 'drinks', 450],
  ['Tea, black', 'drinks', 420],
  ['Coffee', 'drinks', 890],
  ['Honey', 'pantry', 640],
  ['Olive oil', 'pantry', 1250],
  ['Salt', 'pantry', 190],
  ['Soap "Linden"', 'household', 380],
  ['Candles', 'household', 720],
] as const

function day(n: number): string {
  return new Date(FIRST_DAY + n * DAY).toISOString().slice(0, 10)
}

/** A few orders a day, the same ones every time. */
function orders(): string {
  const lines = ['id;day;product;category;quantity;cents']
  for (let n = 0, id = 10_401; n < WEEKS * 7; n++) {
    for (let i = 0; i < 3 + ((n * 5) % 4); i++, id++) {
      const [product, category, cents] = PRODUCTS[(n * 3 + i * 5) % PRODUCTS.length]!
      lines.push([id, day(n), product, category, 1 + ((n + i) % 3), cents].join(';'))
    }
  }
  return `${lines.join('\n')}\n`
}

/** The log of the nightly job, with one report for each week. */
function reportsLog(): string {
  const lines = Array.from({ length: WEEKS }, (_, week) => {
    const [from, to] = [day(week * 7), day(week * 7 + 6)]
    const at = (ms: number) => new Date(FIRST_DAY + (week + 1) * 7 * DAY + 21_600_000 + ms).toISOString()
    const rows = 24 + ((week * 3) % 5)
    return [
      `${at(120)} info  job=weekly-report run=${4100 + week} started by=timer node=worker-${1 + (week % 3)}`,
      `${at(188)} info  job=weekly-report run=${4100 + week} read data/orders.csv lines=${560 + week * 31} bytes=${24_310 + week * 1270}`,
      `${at(203)} debug job=weekly-report run=${4100 + week} week of ${day(week * 7 + 2)} starts ${from}`,
      `${at(214)} debug job=weekly-report run=${4100 + week} select day >= ${from} and day < ${to} rows=${rows}`,
      `${at(251)} debug job=weekly-report run=${4100 + week} grouped into days=6 categories=3`,
      `${at(262)} info  job=weekly-report run=${4100 + week} wrote reports/${from}.txt bytes=${512 + ((week * 37) % 90)}`,
      `${at(840)} info  job=weekly-report run=${4100 + week} mailed to=list:reports attachments=1 queue=${4 + (week % 3)}ms`,
      `${at(902)} info  job=weekly-report run=${4100 + week} done in 782ms peak=${61 + (week % 9)}MB`,
    ].join('\n')
  })
  return `${lines.join('\n')}\n`
}

/** The log of the last nightly build, with every page and its key. */
function nightlyLog(): string {
  const start = Date.UTC(2026, 4, 25, 1, 30)
  const pages = WEEKS * WEEK_PAGES
  const lines = Array.from({ length: pages }, (_, i) => {
    const [week, at] = [Math.floor(i / WEEK_PAGES), i % WEEK_PAGES]
    const name = at === 0 ? `weeks/${day(week * 7)}.html` : `days/${day(week * 7 + at - 1)}.html`
    const key = ((i + 1) * 2_654_435_761).toString(16).slice(-8)
    const time = new Date(start + i * 4180).toISOString().slice(11, 19)
    return `${time} page ${String(i + 1).padStart(3)} of ${pages}  ${name.padEnd(22)}  key ${key}  cache miss  chart ${3 + ((i * 7) % 3)}.${i % 10}s  written`
  })
  const head = ['01:30:00 build starts: 20 weeks, charts on', '01:30:00 cache: 160 pages of the last build']
  return `${[...head, ...lines, `01:41:09 build done: ${pages} pages, 0 from the cache, 11m 9s`].join('\n')}\n`
}

const PROJECT: Record<string, string> = {
  'package.json': `{
  "name": "shop-reports",
  "version": "2.3.0",
  "private": true,
  "type": "module",
  "scripts": {
    "test": "node --test --test-reporter=./test/reporter.js test/*.test.js",
    "build": "node scripts/build.js"
  }
}
`,
  'README.md': `# Shop reports

Reports of what the shop sold, from the orders in \`data/orders.csv\`.

## Usage

\`\`\`sh
node src/cli.js 2026-05-13        # the week that holds this day
node src/cli.js --all             # every week there is
\`\`\`

A week begins on Monday. Amounts are in cents in the data and in whole units with two decimals in reports.

## Where things are

| file | what |
|---|---|
| \`src/dates.js\` | days and weeks, without time zones |
| \`src/orders.js\` | reads the orders, selects a stretch of days |
| \`src/report.js\` | sums orders by day and category |
| \`src/table.js\` | a report as text |
| \`scripts/build.js\` | a page for every week and day; \`--verbose\` says which |
| \`logs/\` | what the nightly jobs wrote |

## Tests and builds

\`node --run test\` runs the tests. \`node --run build\` makes the pages; one whose orders have not changed comes from
the cache, so a build without changes takes a second.
`,
  'src/dates.js': `/**
 * Days as texts (2026-05-13), weeks that begin on Monday. Nothing here knows of times or time zones: a day is a day.
 */

const MS = 86_400_000

export function parseDay(text) {
  if (!/^\\d{4}-\\d{2}-\\d{2}$/.test(text)) throw new Error(\`\${text} is not a day: write it as 2026-05-13\`)
  const time = Date.parse(\`\${text}T00:00:00Z\`)
  if (Number.isNaN(time)) throw new Error(\`\${text} is not a day of the calendar\`)
  return time
}

export function formatDay(time) {
  return new Date(time).toISOString().slice(0, 10)
}

/** The day so many days later; earlier, for a negative number. */
export function addDays(day, count) {
  return formatDay(parseDay(day) + count * MS)
}

/** The Monday of the week that holds a day. */
export function startOfWeek(day) {
  const weekday = (new Date(parseDay(day)).getUTCDay() + 6) % 7
  return addDays(day, -weekday)
}

/** All days from one to another, the last one left out. */
export function daysBetween(from, to) {
  const days = []
  for (let day = from; day < to; day = addDays(day, 1)) days.push(day)
  return days
}

export function weekdayName(day) {
  const names = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
  return names[new Date(parseDay(day)).getUTCDay()]
}
`,
  'src/orders.js': `/** The orders of the shop: a CSV file with semicolons, one order a line, oldest first. */
import { readFileSync } from 'node:fs'
import { parseDay } from './dates.js'

const FILE = new URL('../data/orders.csv', import.meta.url)
const FIELDS = ['id', 'day', 'product', 'category', 'quantity', 'cents']

let cached

export function allOrders() {
  cached ??= parseOrders(readFileSync(FILE, 'utf8'))
  return cached
}

export function parseOrders(text) {
  const [head, ...lines] = text.trimEnd().split('\\n')
  if (head !== FIELDS.join(';')) throw new Error('data/orders.csv: the first line does not name the fields')
  return lines.map((line, index) => parseOrder(line, index + 2))
}

function parseOrder(line, number) {
  const values = line.split(';')
  if (values.length !== FIELDS.length) throw new Error(\`data/orders.csv:\${number}: \${values.length} fields\`)
  const [id, day, product, category, quantity, cents] = values
  parseDay(day)
  return { id: Number(id), day, product, category, quantity: Number(quantity), cents: Number(cents) }
}

/** Orders from a day on and before another: \`to\` itself is not in it. */
export function ordersBetween(from, to, orders = allOrders()) {
  return orders.filter(({ day }) => day >= from && day < to)
}

/** The first day of every week that has orders. */
export function weeksWithOrders(startOfWeek, orders = allOrders()) {
  return [...new Set(orders.map(({ day }) => startOfWeek(day)))]
}
`,
  'src/report.js': `/**
 * The weekly report: one row for each day that has orders, with what was sold of each category, and a last row with
 * the sums. Rows are in the order of the days. Everything is in cents; table.js makes amounts of them.
 */
import { addDays, startOfWeek, weekdayName } from './dates.js'
import { ordersBetween } from './orders.js'

export const CATEGORIES = ['drinks', 'pantry', 'household']

/** The report of the week that holds a day. */
export function weeklyReport(day, orders) {
  const from = startOfWeek(day)
  const to = addDays(from, 6)
  const rows = rowsOf(ordersBetween(from, to, orders))
  return { from, to, rows, total: totalOf(rows) }
}

function rowsOf(orders) {
  const byDay = Map.groupBy(orders, ({ day }) => day)
  return [...byDay].map(([day, ofDay]) => ({
    day,
    weekday: weekdayName(day),
    orders: ofDay.length,
    cents: sumsOf(ofDay),
  }))
}

/** Cents by category, those that sold nothing included. */
function sumsOf(orders) {
  const sums = Object.fromEntries(CATEGORIES.map(category => [category, 0]))
  for (const { category, quantity, cents } of orders) {
    if (!(category in sums)) throw new Error(\`the category \${category} has no column in the report\`)
    sums[category] += quantity * cents
  }
  return sums
}

function totalOf(rows) {
  const cents = Object.fromEntries(
    CATEGORIES.map(category => [category, rows.reduce((sum, row) => sum + row.cents[category], 0)]),
  )
  return { orders: rows.reduce((sum, row) => sum + row.orders, 0), cents }
}
`,
  'src/table.js': `/** A report as text: columns of their own width, numbers to the right. */
import { CATEGORIES } from './report.js'

export function toTable({ from, rows, total }) {
  const head = ['day', '', 'orders', ...CATEGORIES]
  const lines = rows.map(row => [row.day, row.weekday, String(row.orders), ...amountsOf(row)])
  const sum = ['total', '', String(total.orders), ...amountsOf(total)]
  const all = [head, ...lines, sum]
  const widths = head.map((_, column) => Math.max(...all.map(line => line[column].length)))
  return [\`Week of \${from}\`, ...all.map(line => aligned(line, widths))].join('\\n')
}

function aligned(line, widths) {
  return line
    .map((text, column) => (column < 2 ? text.padEnd(widths[column]) : text.padStart(widths[column])))
    .join('  ')
    .trimEnd()
}

export function amountsOf({ cents }) {
  return CATEGORIES.map(category => amount(cents[category]))
}

export function amount(cents) {
  return (cents / 100).toFixed(2)
}
`,
  'src/cli.js': `/** The command line: a week by any of its days, or all of them. */
import { startOfWeek } from './dates.js'
import { weeksWithOrders } from './orders.js'
import { weeklyReport } from './report.js'
import { toTable } from './table.js'

const USAGE = 'usage: node src/cli.js DAY | --all'

function main(args) {
  const days = args.includes('--all') ? weeksWithOrders(startOfWeek) : args.filter(arg => !arg.startsWith('-'))
  if (days.length === 0) throw new Error(USAGE)
  for (const day of days) console.log(toTable(weeklyReport(day)))
}

try {
  main(process.argv.slice(2))
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
`,
  'scripts/build.js': `/**
 * Makes a page for every week and every day. A page is made anew only when its orders have changed: what it was made
 * from is hashed, and the hash of the last time is kept in .cache/pages.json.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { addDays, daysBetween, startOfWeek, weekdayName } from '../src/dates.js'
import { ordersBetween, weeksWithOrders } from '../src/orders.js'
import { weeklyReport } from '../src/report.js'
import { amount, toTable } from '../src/table.js'

const CACHE = '.cache/pages.json'
const verbose = process.argv.includes('--verbose')

const keys = existsSync(CACHE) ? JSON.parse(readFileSync(CACHE, 'utf8')) : {}
const pages = weeksWithOrders(startOfWeek).flatMap(pagesOfWeek)
let cached = 0
for (const [index, page] of pages.entries()) {
  const key = keyOf(page)
  const known = keys[page.name] === key
  if (known) cached++
  else write(join('dist', page.name), page.render())
  keys[page.name] = key
  if (verbose) console.log(lineOf(page, index, known))
}
write(CACHE, JSON.stringify(keys))
console.log(\`\${pages.length} pages, \${cached} from the cache\`)

function pagesOfWeek(from) {
  const to = addDays(from, 7)
  const week = { name: \`weeks/\${from}.html\`, orders: ordersBetween(from, to), render: () => weekPage(from) }
  const days = daysBetween(from, to).map(day => {
    const orders = ordersBetween(day, addDays(day, 1))
    return { name: \`days/\${day}.html\`, orders, render: () => dayPage(day, orders) }
  })
  return [week, ...days]
}

/** What a page is made from, as one short text. */
function keyOf({ name, orders }) {
  const made = { name, orders, at: process.hrtime.bigint().toString() }
  return createHash('sha256').update(JSON.stringify(made)).digest('hex').slice(0, 8)
}

function weekPage(from) {
  return \`<!doctype html><title>Week of \${from}</title><pre>\${escape(toTable(weeklyReport(from)))}</pre>\\n\`
}

function dayPage(day, orders) {
  const items = orders.map(({ product, quantity, cents }) => \`<li>\${quantity} × \${escape(product)} \${amount(cents)}\`)
  return \`<!doctype html><title>\${weekdayName(day)}, \${day}</title><ul>\${items.join('')}</ul>\\n\`
}

function lineOf({ name, orders }, index, known) {
  const place = \`page \${String(index + 1).padStart(3)} of \${pages.length}\`
  return \`\${place}  \${name.padEnd(22)}  \${String(orders.length).padStart(2)} orders  \${known ? 'from the cache' : 'made anew'}\`
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
`,
  'test/reporter.js': `/** Test results without times: a line for each, and for a failure what was expected and where. */
export default async function* report(events) {
  let passed = 0
  let failed = 0
  for await (const { type, data } of events) {
    if (data?.details?.type === 'suite' || data?.name?.endsWith('.test.js')) continue
    if (type === 'test:pass') {
      passed++
      yield \`ok      \${data.name}\\n\`
    }
    if (type === 'test:fail') {
      failed++
      const { cause } = data.details.error
      yield \`FAILED  \${data.name}\\n\${indented(cause?.message ?? data.details.error.message)}\\n\`
    }
  }
  yield \`\\n\${passed} passed, \${failed} failed\\n\`
}

function indented(text) {
  return text
    .split('\\n')
    .map(line => \`        \${line}\`.trimEnd())
    .join('\\n')
}
`,
  'test/dates.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addDays, daysBetween, startOfWeek, weekdayName } from '../src/dates.js'

test('weeks begin on Monday', () => {
  assert.equal(startOfWeek('2026-05-13'), '2026-05-11')
  assert.equal(startOfWeek('2026-05-11'), '2026-05-11')
  assert.equal(startOfWeek('2026-05-17'), '2026-05-11')
})

test('adding days crosses months and years', () => {
  assert.equal(addDays('2026-02-28', 1), '2026-03-01')
  assert.equal(addDays('2026-01-01', -1), '2025-12-31')
})

test('a stretch of days leaves its end out', () => {
  assert.deepEqual(daysBetween('2026-05-11', '2026-05-13'), ['2026-05-11', '2026-05-12'])
})

test('days have names', () => {
  assert.equal(weekdayName('2026-05-17'), 'Sunday')
})
`,
  'test/orders.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allOrders, ordersBetween, parseOrders } from '../src/orders.js'

const HEAD = 'id;day;product;category;quantity;cents'

test('an order has six fields', () => {
  const [order] = parseOrders(\`\${HEAD}\\n1;2026-05-11;Salt;pantry;2;190\\n\`)
  assert.deepEqual(order, { id: 1, day: '2026-05-11', product: 'Salt', category: 'pantry', quantity: 2, cents: 190 })
})

test('a line that is too short is named', () => {
  assert.throws(() => parseOrders(\`\${HEAD}\\n1;2026-05-11;Salt\\n\`), /orders\\.csv:2: 3 fields/)
})

test('a stretch of orders leaves its end out', () => {
  const days = new Set(ordersBetween('2026-05-11', '2026-05-13').map(({ day }) => day))
  assert.deepEqual([...days], ['2026-05-11', '2026-05-12'])
})

test('there are orders on every day of the week', () => {
  assert.equal(new Set(allOrders().map(({ day }) => new Date(day).getUTCDay())).size, 7)
})
`,
  'test/report.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { weeklyReport } from '../src/report.js'
import { amount, toTable } from '../src/table.js'

const order = (day, category, cents, quantity = 1) => ({ id: 1, day, product: 'x', category, quantity, cents })

test('a day without orders has no row', () => {
  const { rows } = weeklyReport('2026-05-13', [order('2026-05-11', 'drinks', 450), order('2026-05-13', 'pantry', 190)])
  assert.deepEqual(rows.map(({ weekday }) => weekday), ['Monday', 'Wednesday'])
})

test('the total counts every piece', () => {
  const { total } = weeklyReport('2026-05-13', [order('2026-05-12', 'drinks', 450, 3)])
  assert.equal(total.cents.drinks, 1350)
})

test('amounts have two decimals', () => {
  assert.equal(amount(1250), '12.50')
})

test('a table ends with the total', () => {
  const table = toTable(weeklyReport('2026-05-13', [order('2026-05-12', 'drinks', 450)]))
  assert.match(table.split('\\n').at(-1), /^total/)
})
`,
  'data/orders.csv': orders(),
  'logs/reports.log': reportsLog(),
  'logs/nightly.log': nightlyLog(),
}
