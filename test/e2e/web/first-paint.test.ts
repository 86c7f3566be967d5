/** How fast a session is on the screen: one of ten thousand entries like one of a hundred. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { longConversation, openWeb, skip, type Web } from './harness.ts'

const SHORT = 100
const LONG = 10_000
const LOADS = 5
const MOST = 1.5

test('showing ten thousand entries takes at most one and a half times the work of a hundred', { skip }, async t => {
  const web = await openWeb()
  t.after(() => web.close())
  for (const entries of [SHORT, LONG]) await fill(web, entries)
  for (const entries of [SHORT, LONG]) await workOf(web, entries)
  const short: number[] = []
  const long: number[] = []
  for (let i = 0; i < LOADS; i++) {
    short.push(await workOf(web, SHORT))
    long.push(await workOf(web, LONG))
  }
  const [few, many] = [median(short), median(long)]
  t.diagnostic(`${few.toFixed(0)} ms for ${SHORT} entries, ${many.toFixed(0)} ms for ${LONG}, of processor time`)
  assert.ok(few > 10, `${few} ms is too little to be all of it`)
  assert.ok(many <= MOST * few, `${many.toFixed(0)} ms against ${few.toFixed(0)} ms`)
  assert.deepEqual(web.problems, [])
})

async function fill(web: Web, entries: number): Promise<void> {
  const session = await web.pal.session(`of-${entries}`)
  const messages = longConversation(entries)
  for (let from = 0; from < entries; from += 1000) await session.append(...messages.slice(from, from + 1000))
}

/**
 * Milliseconds of processor time from the click to the first entry on the screen: of the page until then, and of the
 * server for all requests of the page until then. The work of other programs on this machine is not included.
 */
async function workOf(web: Web, entries: number): Promise<number> {
  const page = await web.page('#/nowhere')
  const shown = Promise.withResolvers<string[]>()
  await page.exposeFunction('tellShown', shown.resolve)
  await page.evaluate(watchForFirstEntry)
  const browser = page.context().browser()!
  await browser.startTracing(page, { categories: ['toplevel', 'blink.user_timing'] })
  await page.evaluate(name => location.assign(`#/sessions/${name}`), `of-${entries}`)
  const asked = await shown.promise
  const inPage = pageTime(await browser.stopTracing())
  await page.close()
  assert.ok(asked.some(path => path.includes('/entries')))
  let inServer = 0
  for (const path of asked) inServer += await serverTime(new URL(path, web.url).href)
  return inPage + inServer
}

type InPage = { tellShown(asked: string[]): void }

/** In the page: marks in the trace when the first entry can be painted, with the requests so far. */
function watchForFirstEntry(): void {
  const asked: string[] = []
  const { fetch: read } = globalThis
  globalThis.fetch = (input, init) => {
    asked.push(String(input))
    return read(input, init)
  }
  const observer = new MutationObserver(() => {
    if (!document.querySelector('[data-entry="0"] .part')) return
    observer.disconnect()
    performance.mark('first-entry')
    ;(globalThis as unknown as InPage).tellShown(asked)
  })
  observer.observe(document.body, { childList: true, subtree: true })
}

/** Processor time of the tasks of the page's main thread until the mark. */
function pageTime(trace: Buffer): number {
  type Event = { name: string; pid: number; tid: number; ts: number; tdur?: number; args?: { name?: string } }
  const { traceEvents }: { traceEvents: Event[] } = JSON.parse(trace.toString())
  const mark = traceEvents.find(({ name }) => name === 'first-entry')
  assert.ok(mark, 'the trace has the mark')
  const tasks = traceEvents.filter(({ name, pid, tid, ts }) => {
    return name.endsWith('RunTask') && pid === mark.pid && tid === mark.tid && ts < mark.ts
  })
  return tasks.reduce((sum, { tdur = 0 }) => sum + tdur / 1000, 0)
}

/** The processor time of this process, which is also the server. */
async function serverTime(url: string): Promise<number> {
  const before = process.cpuUsage()
  await (await fetch(url)).text()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
