/** A session of ten thousand entries: shown as fast as a short one, and smooth to scroll. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { longConversation, openWeb, skip } from './harness.ts'

const ENTRIES = 10_000
const LONGEST_TASK_MS = 200

test('with ten thousand entries, few rows are elements, and no task is long while scrolling', { skip }, async t => {
  const web = await openWeb()
  t.after(() => web.close())
  const session = await web.pal.session('long')
  for (let from = 0; from < ENTRIES; from += 1000)
    await session.append(...longConversation(ENTRIES).slice(from, from + 1000))
  const page = await web.page('#/sessions/long')
  await page.locator('[data-entry="0"] .part').first().waitFor()
  await page.getByTestId('context-map').waitFor()
  await page.getByRole('img', { name: /^Tokens: / }).waitFor()
  const browser = page.context().browser()!
  await browser.startTracing(page, { categories: ['toplevel'] })
  const rows = await page.evaluate(async () => {
    let most = 0
    for (let step = 0; step < 200; step++) {
      scrollBy(0, 500)
      await new Promise(requestAnimationFrame)
      most = Math.max(most, document.querySelectorAll('[data-entry]').length)
    }
    return most
  })
  const tasks = taskTimes(await browser.stopTracing())
  assert.ok(rows > 3 && rows < 60, `${rows} rows at once`)
  assert.ok(tasks.length > 100, `${tasks.length} tasks were seen`)
  assert.ok(Math.max(...tasks) <= LONGEST_TASK_MS, `the longest task took ${Math.max(...tasks)} ms`)
  await page.goto(`${web.url}/#/sessions/long?entry=9001`)
  await page.locator('[data-entry="9001"]').getByText('I read module 2250.').waitFor()
  assert.ok(await page.locator('[data-entry="9001"]').evaluate(row => row.getBoundingClientRect().top < innerHeight))
  assert.match((await page.getByTestId('context-map').getAttribute('aria-valuetext')) ?? '', /original tokens/)
  assert.deepEqual(web.problems, [])
})

/** Processor time of each task on the page's main thread, in milliseconds, without the work of other programs. */
function taskTimes(trace: Buffer): number[] {
  type Event = { name: string; pid: number; tid: number; tdur?: number; args?: { name?: string } }
  const { traceEvents }: { traceEvents: Event[] } = JSON.parse(trace.toString())
  const threads = traceEvents
    .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
    .map(({ pid, tid }) => `${pid}.${tid}`)
  return traceEvents
    .filter(({ name, pid, tid }) => name.endsWith('RunTask') && threads.includes(`${pid}.${tid}`))
    .map(({ tdur = 0 }) => tdur / 1000)
}
