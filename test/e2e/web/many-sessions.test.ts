/** Ten thousand sessions: the page holds a hundred rows, and asks once for what is wanted, however much there is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { openPalimpsest, type Palimpsest } from '../../../src/session/engine.ts'
import { openWeb, skip } from './harness.ts'

const SESSIONS = 10_000
const PAGE = 100

test('ten thousand sessions: a page of rows, one page asked for, and the ledger read once', { skip }, async t => {
  let now = Date.UTC(2026, 4, 1)
  const pal = await openPalimpsest({ home: ':memory:', clock: () => now++ })
  for (let i = 0; i < SESSIONS; i++) await pal.session(`module-${i % 500}-${i}`)
  const read = countReads(pal)
  // The clock stands still, so that the list is read as a whole once.
  const web = await openWeb({ pal, clock: () => now })
  t.after(() => web.close())
  const page = await web.page()
  const asked = listsAsked(page)
  await page.goto(`${web.url}/#/sessions`)
  await page.getByText('1–100 of 10,000').waitFor()
  assert.equal(await rows(page), PAGE)
  assert.ok(read.listed >= SESSIONS, `${read.listed} rows were read in the beginning`)

  const steps: [what: string, act: () => Promise<unknown>, seen: string][] = [
    ['next', () => page.getByRole('button', { name: 'Next' }).click(), '101–200 of 10,000'],
    ['next again', () => page.getByRole('button', { name: 'Next' }).click(), '201–300 of 10,000'],
    ['sort', () => page.getByRole('button', { name: 'Session', exact: true }).click(), '1–100 of 10,000'],
    ['filter', () => page.getByLabel('Search sessions').fill('module-42-'), '20 sessions'],
  ]
  for (const [what, act, seen] of steps) {
    const [before, listed] = [new Set(asked), read.listed]
    await act()
    await page.getByText(seen).waitFor()
    const pages = new Set(asked).difference(before)
    assert.ok(pages.size <= 1, `${what}: ${[...pages]}`)
    assert.ok(read.listed - listed < SESSIONS, `${what}: ${read.listed - listed} rows were read`)
    assert.ok((await rows(page)) <= PAGE, what)
  }
  assert.deepEqual(web.problems, [])
})

/** How many rows the store gave. */
function countReads(pal: Palimpsest): { listed: number } {
  const read = { listed: 0 }
  const { sessions } = pal
  pal.sessions = async options => {
    const found = await sessions.call(pal, options)
    read.listed += found.length
    return found
  }
  return read
}

/** The addresses of the pages of the list that were asked for; while numbers are read, one is asked for again. */
function listsAsked(page: Page): string[] {
  const asked: string[] = []
  page.on('request', request => {
    if (request.url().includes('/families')) asked.push(request.url())
  })
  return asked
}

function rows(page: Page): Promise<number> {
  return page.locator('[data-session]').count()
}
