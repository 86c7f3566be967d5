/** The page of a session in a real browser: the map, its past, the conversation, and every action on it. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { openSample, SAMPLE } from '../../../src/session/sample.ts'
import type { Session } from '../../../src/session/session.ts'
import type { Pending } from '../../../web/src/api-types.ts'
import { openSmall } from '../../small-session.ts'
import { seriousFindings } from './axe.ts'
import { longConversation, openWeb, skip, type Web } from './harness.ts'

const entry = (page: Page, number: number) => page.locator(`[data-entry="${number}"]`)
const part = (page: Page, number: number, index = 0) => entry(page, number).locator('article.part').nth(index)
const button = (where: Locator, name: string | RegExp) =>
  where.getByRole('button', { name, exact: typeof name === 'string' })
const map = (page: Page) => page.getByTestId('context-map')

describe('the page of a session', { skip }, () => {
  let web: Web
  let session: Session
  let page: Page
  let made = 0
  before(async () => {
    web = await openWeb()
  })
  after(() => web?.close())
  beforeEach(async () => {
    const small = await openSmall(web.pal)
    session = await small.fork(undefined, `of-the-small-one-${++made}`)
    await page?.close()
    page = await web.page(`#/sessions/${session.id}`)
    await map(page).waitFor()
    await part(page, 0).waitFor()
  })

  const active = () => session.view({ plan: false }).then(() => session.edits().filter(({ active }) => active).length)

  test('the map describes every part by place, kind, size and state, for screen readers too', async () => {
    assert.match(await page.getByLabel('Tokens by kind').innerText(), /Read\s+7\.2K → 304/)
    await map(page).focus()
    await page.keyboard.press('End')
    assert.match((await map(page).getAttribute('aria-valuetext')) ?? '', /entry 16/)
    await page.keyboard.press('Home')
    assert.match((await map(page).getAttribute('aria-valuetext')) ?? '', /^system You are a careful engineer/)
    await page.keyboard.press('ArrowRight')
    assert.match((await map(page).getAttribute('aria-valuetext')) ?? '', /entry 1, 23 tokens, pinned$/)
    await page.keyboard.press('Enter')
    await page.waitForURL(/entry=1/)
    assert.deepEqual(web.problems, [])
  })

  test('the map is drawn with hatching and colours, and a click on it jumps to the part', async () => {
    const colours = await page.evaluate(() => {
      const canvas = document.querySelector('canvas')!
      const { data } = canvas.getContext('2d')!.getImageData(0, 24, canvas.width, 1)
      const found = new Set<string>()
      for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) found.add(data.slice(i, i + 3).join())
      return found.size
    })
    assert.ok(colours > 5, `${colours} colours in the upper row`)
    const box = (await map(page).boundingBox())!
    await page.mouse.click(box.x + box.width / 2, box.y + 15)
    await page.waitForURL(/entry=7/)
    assert.equal(await entry(page, 7).evaluate(element => element.classList.contains('entry-chosen')), true)
  })

  test('the map can show any earlier call, by slider and by keys, and a link keeps the place', async () => {
    const text = page.getByTestId('scrubber-text')
    await text.getByText('Now').waitFor()
    await page.keyboard.press('[')
    await text.getByText('Call 8 of 8').waitFor()
    await page.getByLabel('Tokens by kind').getByText('7.2K', { exact: true }).waitFor()
    assert.doesNotMatch(await page.getByLabel('Tokens by kind').innerText(), /→/, 'nothing was edited at that call')
    await page.getByLabel('Call', { exact: true }).fill('2')
    await text.getByText('Call 2 of 8').waitFor()
    await page.locator('.entry-later').first().waitFor()
    await page.reload()
    await text.getByText('Call 2 of 8').waitFor()
    await text.getByRole('button', { name: 'Back to now' }).click()
    await text.getByText('Now').waitFor()
    await page.getByLabel('Tokens by kind').getByText('7.2K → 304').waitFor()
  })

  test('a link to an entry scrolls it below the map, and the sidebar never covers it', async () => {
    await page.goto(`${web.url}/#/sessions/${session.id}?entry=9`)
    const panel = page.getByRole('region', { name: 'Context map' })
    const bottom = async () => panel.evaluate(element => element.getBoundingClientRect().bottom)
    const topOf = (where: Locator) => where.evaluate(element => element.getBoundingClientRect().top)
    await page.waitForFunction(() => {
      const map = document.querySelector('.map-panel')!.getBoundingClientRect()
      const row = document.querySelector('[data-entry="9"]')?.getBoundingClientRect()
      return row !== undefined && map.height > 80 && row.top >= map.bottom && row.top < innerHeight / 2
    })
    assert.ok((await topOf(page.getByRole('tab', { name: 'Calls' }))) >= (await bottom()))
  })

  test('a click on the map scrolls to the part, even if the rows above were not measured yet', async () => {
    const tall = await web.pal.session('tall-ones', { model: 'claude-sonnet-4-5' })
    if (tall.fold.entries.length === 0) await tall.append(...longConversation(160))
    await page.goto(`${web.url}/#/sessions/tall-ones`)
    await page.locator('[data-total="160"]').waitFor()
    await page.getByRole('region', { name: 'Verdict' }).waitFor()
    await page.getByLabel('Tokens by kind').getByText('Read').waitFor()
    const box = (await map(page).boundingBox())!
    await page.mouse.click(box.x + box.width * 0.7, box.y + 30)
    await page.waitForURL(/entry=\d+/)
    const chosen = Number(/entry=(\d+)/.exec(page.url())?.[1])
    await entry(page, chosen).waitFor()
    await page.waitForFunction(chosen => {
      const map = document.querySelector('.map-panel')!.getBoundingClientRect()
      const row = document.querySelector(`[data-entry="${chosen}"]`)!.getBoundingClientRect()
      return map.height === 90 && row.top >= map.bottom && row.top < innerHeight / 2
    }, chosen)
  })

  test('an edited part can be seen as shown, original and as a diff, with reason, author and savings', async () => {
    await page.goto(`${web.url}/#/sessions/${session.id}?entry=7`)
    const log = part(page, 7)
    await log.getByText('180 lines of the server log').waitFor()
    assert.match(await log.locator('.reason').innerText(), /e1\s*Replaced\s*by agent\s*6,7\d\d tokens saved/)
    await button(log, 'As it was').click()
    await log.getByText('GET /health 200').first().waitFor()
    await button(log, /^Show all/).click()
    await log.getByText('slow query 1204ms').waitFor()
    await button(log, 'Diff').click()
    await log.locator('ins').first().waitFor()
    assert.match(await log.locator('ins').first().innerText(), /180 lines/)
    await button(log, 'History').click()
    await log.getByLabel('History of this part').getByText('before call 9').waitFor()
  })

  test('the verdict comes first: savings, lost text and cache behaviour', async () => {
    const { id } = await openSmall(web.pal)
    await page.goto(`${web.url}/#/sessions/${id}`)
    const verdict = page.getByRole('region', { name: 'Verdict' })
    await verdict.getByText('Estimated bill').waitFor()
    const { saved, lost, quotes } = await (await fetch(`${web.url}/sessions/${id}/verdict`)).json()
    const text = await verdict.innerText()
    if (quotes > 0) assert.ok(text.includes(`${lost} of ${quotes} later quote`), text)
    assert.match(text, saved >= 0.005 ? /^Saved \$/ : /^(Cost|Edits cost) /)
    assert.doesNotMatch(text, /-\d+ tokens/)
    await verdict.getByRole('button', { name: 'What this means' }).first().click()
    const told = (await verdict.getByRole('tooltip').first().boundingBox())!
    assert.ok(told.x >= 0, `the explanation begins at ${told.x}`)
  })

  test('the page names the price that is taken for an unknown model', async () => {
    const unknown = await web.pal.session('unknown-model', { model: 'somebody/unknown-1' })
    if (unknown.fold.entries.length === 0) {
      await unknown.append(
        { role: 'user', parts: [{ type: 'text', text: 'Hello.' }] },
        { role: 'assistant', parts: [{ type: 'text', text: 'Hello.' }] },
      )
    }
    await page.goto(`${web.url}/#/sessions/unknown-model`)
    const note = page.getByText('The price of somebody/unknown-1 is not known; it is priced as claude-')
    await note.waitFor()
    const ground = await note.evaluate(element => getComputedStyle(element.closest('.notice')!).backgroundColor)
    assert.notEqual(ground, 'rgba(0, 0, 0, 0)', 'it stands out, on a page that was opened first')
  })

  test('the system prompt is collapsed, and can be opened', async () => {
    await part(page, 0).getByRole('button', { name: 'Show the system prompt' }).click()
    await part(page, 0).getByText('You are a careful engineer').waitFor()
  })

  test('the map shrinks when the page is scrolled, without moving the text, and grows again', async () => {
    const panel = page.getByRole('region', { name: 'Context map' })
    const full = await panel.evaluate(element => (element as HTMLElement).offsetHeight)
    const below = () =>
      page.evaluate('document.querySelector(".session-columns").getBoundingClientRect().top + scrollY')
    const before = Number(await below())
    await page.evaluate('scrollTo(0, 900)')
    await page.waitForFunction(() => document.querySelector<HTMLElement>('.map-panel')!.offsetHeight === 90)
    const moved = Math.abs(Number(await below()) - before)
    assert.ok(moved < 2, `what is below the map moved by ${moved} px`)
    await page.evaluate('scrollTo(0, 0)')
    await page.waitForFunction(
      before => document.querySelector<HTMLElement>('.map-panel')!.offsetHeight === before,
      full,
    )
  })

  test('dragging on the strip zooms the map, and it can be reset', async () => {
    const strip = (await page.getByTestId('zoom').boundingBox())!
    const last = () => map(page).getAttribute('aria-valuemax').then(Number)
    const all = await last()
    await page.mouse.move(strip.x + strip.width * 0.7, strip.y + 8)
    await page.mouse.down()
    await page.mouse.move(strip.x + strip.width * 0.9, strip.y + 8, { steps: 4 })
    await page.mouse.up()
    await page.getByRole('button', { name: 'Show all', exact: true }).waitFor()
    assert.ok((await last()) < all)
    const from = page.getByRole('slider', { name: 'Zoom: beginning' })
    const to = page.getByRole('slider', { name: 'Zoom: end' })
    const begins = Number(await from.getAttribute('aria-valuenow'))
    const end = (await to.boundingBox())!
    await page.mouse.move(end.x + 2, end.y + 8)
    await page.mouse.down()
    await page.mouse.move(strip.x + strip.width - 1, end.y + 8, { steps: 4 })
    await page.mouse.up()
    assert.equal(await to.getAttribute('aria-valuenow'), '100', 'a handle moves its own end')
    assert.equal(Number(await from.getAttribute('aria-valuenow')), begins, 'and not the other')
    await to.focus()
    await page.keyboard.press('ArrowLeft')
    await page.getByRole('button', { name: 'Show all', exact: true }).click()
    assert.equal(await last(), all)
  })

  test('turns are a tree: a turn opens to its calls and tools, and jumps to its place, in the map too', async () => {
    await page.setViewportSize({ width: 1400, height: 900 })
    const turns = page.getByRole('region', { name: 'Turns' })
    const first = turns.locator('[data-turn="1"]')
    await first.waitFor()
    assert.equal(await turns.locator('.step').count(), 0, 'all are folded')
    await first.getByRole('button', { name: 'Calls of turn 1' }).click()
    await first.locator('.step', { hasText: 'call 1' }).first().waitFor()
    await first.locator('.step-tool').last().click()
    await page.waitForURL(/entry=\d+/)
    await page.evaluate('scrollTo(0, 0)')
    await page.getByRole('button', { name: 'By turn' }).click()
    const count = Number(await map(page).getAttribute('aria-valuemax'))
    assert.ok(count < 5, `${count} columns`)
  })

  test('the page follows a growing session, and counts new entries while the user reads above', async () => {
    await page.evaluate('scrollTo(0, 300)')
    const words = longConversation(40).filter(({ role, parts }) => role === 'user' || parts.length === 1)
    await session.append(...words.filter(({ role }) => role !== 'tool'))
    const button = page.getByRole('button', { name: /^↓ \d+ new$/ })
    await button.click()
    await entry(page, 36).waitFor()
    await button.waitFor({ state: 'detached' })
  })

  test('an unknown session gives a message with a link to the list', async () => {
    await page.goto(`${web.url}/#/sessions/no-such-one`)
    await page.getByRole('alert').getByText('SESSION_NOT_FOUND').waitFor()
    await page.getByRole('link', { name: 'To the list of sessions' }).click()
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  })

  test('undo and redo update the page at once', async () => {
    await page.getByRole('tab', { name: /Edits/ }).click()
    const first = page.locator('[data-edit="e1"]')
    await first.getByRole('button', { name: 'run_command logs/server.log' }).waitFor()
    await button(first, 'Undo').click()
    await button(first, 'Redo').waitFor()
    assert.equal(await active(), 1)
    await page.getByLabel('Tokens by kind').getByText('7.2K → 7.1K').waitFor()
    await button(first, 'Redo').click()
    await button(first, 'Undo').waitFor()
    assert.equal(await active(), 2)
  })

  test('undo is the first action in the toolbar of an edited part', async () => {
    await page.goto(`${web.url}/#/sessions/${session.id}?entry=7`)
    const undo = part(page, 7).getByRole('button').first()
    assert.equal(await undo.innerText(), 'Undo')
    await button(part(page, 7), 'Diff').click()
    await part(page, 7).locator('ins, del').first().waitFor()
    await undo.click()
    await part(page, 7).getByRole('button', { name: 'As shown' }).waitFor({ state: 'detached' })
    assert.equal(await part(page, 7).getByText('unchanged').count(), 0, 'the text is shown again, not an empty diff')
    assert.equal(await active(), 1)
    await button(page.getByLabel('Notices'), 'Redo').click()
    await part(page, 7).getByRole('button', { name: 'As shown' }).waitFor()
  })

  test('the header shows a working agent, and the tab has the title of the session', async () => {
    const sample = await openSample(web.pal)
    await page.goto(`${web.url}/#/sessions/${SAMPLE}`)
    await page.waitForFunction(() => /^The weekly report leaves out Sunday/.test(document.title))
    const head = page.locator('.session-about')
    assert.equal(await head.getByText('active').count(), 0, 'its dates are old')
    await sample.append({ role: 'user', parts: [{ type: 'text', text: 'And on Mondays?' }] })
    await head.getByText('active').waitFor()
  })

  test('on a touch screen, the actions of an entry open on request', async () => {
    const touch = await web.page(`#/sessions/${session.id}`, {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    })
    const asked = entry(touch, 1)
    await part(touch, 1).waitFor()
    assert.equal(await button(asked, 'Shorten').isVisible(), false)
    await button(asked, 'What can be done with entry 1').tap()
    await button(asked, 'Shorten').waitFor()
    await button(asked, 'Fork here').waitFor()
    assert.equal(await button(entry(touch, 2), 'Fork here').isVisible(), false)
    await touch.context().close()
  })

  test('a long command or path leaves everything in view', async () => {
    const long = await web.pal.session('a-long-command', { model: 'claude-sonnet-4-5' })
    const input = { command: `git add ${'docs/a-long-name/'.repeat(12)}` }
    const written = { path: `${'src/components/ConfigEditor/'.repeat(4)}styles.css`, content: 'x' }
    if (long.fold.entries.length === 0) {
      await long.append(
        { role: 'user', parts: [{ type: 'text', text: 'Commit it.' }] },
        { role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'bash', input }] },
        { role: 'tool', parts: [{ type: 'tool-result', id: 'c1', name: 'bash', output: 'done '.repeat(40) }] },
        { role: 'assistant', parts: [{ type: 'tool-call', id: 'c2', name: 'write_file', input: written }] },
        { role: 'tool', parts: [{ type: 'tool-result', id: 'c2', name: 'write_file', output: 'written' }] },
      )
      await long.apply([{ target: { type: 'part', entry: 2, part: 0 }, replacement: 'done', why: 'test' }])
    }
    const touch = await web.page('#/sessions/a-long-command', {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    })
    await part(touch, 2).waitFor()
    assert.equal(await touch.evaluate('document.documentElement.scrollWidth'), 390)
    await touch.getByRole('tab', { name: 'Files' }).click()
    const path = touch.getByRole('button', { name: written.path })
    const end = await path.evaluate(element => element.getBoundingClientRect().right)
    assert.ok(end <= 390, `the path ends at ${end}`)
    await touch.context().close()
    await page.goto(`${web.url}/#/sessions/a-long-command`)
    await page.getByRole('tab', { name: /Edits/ }).click()
    const undo = button(page.locator('.edits li'), 'Undo')
    await undo.waitFor()
    const side = (await page.locator('.side').boundingBox())!
    const box = (await undo.boundingBox())!
    assert.ok(box.x + box.width <= side.x + side.width, 'the button is in view')
  })

  test('a part can be discarded, and a notice offers undo', async () => {
    const report = part(page, 3)
    await button(report, 'Discard').click()
    await report.locator('.reason').getByText('by user').waitFor()
    assert.equal(await active(), 3)
    await button(page.getByLabel('Notices'), 'Undo').click()
    await report.locator('.reason').waitFor({ state: 'detached' })
    assert.equal(await active(), 2)
  })

  test('a part can be distilled to a text of the user', async () => {
    await button(part(page, 5), 'Shorten').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('What the model should see instead').fill('14 tests pass, none covers Sunday.')
    await button(dialog, 'Show this instead').click()
    await part(page, 5).getByText('14 tests pass, none covers Sunday.').waitFor()
    assert.equal(await dialog.count(), 0)
  })

  test('a restored part is appended at the end, where it does not affect the cache', async () => {
    await page.goto(`${web.url}/#/sessions/${session.id}?entry=7`)
    await button(part(page, 7), 'Show at the end').click()
    await page.getByLabel('Notices').getByText('shown again at the end').waitFor()
    const { messages } = await session.view({ plan: false })
    assert.match(JSON.stringify(messages.at(-1)), /Restored from entry 7/)
    await page.goto(`${web.url}/#/sessions/${session.id}?entry=16`)
    await entry(page, 16).getByText('[Restored from entry 7]').waitFor()
  })

  test('a part or a whole entry can be pinned and unpinned', async () => {
    const pinned = (index: number, part = 0) => entry(page, index).locator('article.part').nth(part).getByText('pinned')
    await button(part(page, 2, 1), 'Pin').click()
    await pinned(2, 1).waitFor()
    assert.equal(await pinned(2, 0).count(), 0, 'the other part is not')
    await button(part(page, 2, 1), 'Unpin').click()
    await pinned(2, 1).waitFor({ state: 'detached' })
    await pinned(1).waitFor()
    await button(part(page, 1), 'Unpin').click()
    await pinned(1).waitFor({ state: 'detached' })
    await button(entry(page, 2), 'Pin entry').click()
    await pinned(2, 0).waitFor()
    await pinned(2, 1).waitFor()
    await button(entry(page, 2), 'Unpin entry').click()
    await pinned(2, 0).waitFor({ state: 'detached' })
  })

  test('a range can be compacted with a summary that the user has edited', async () => {
    await entry(page, 2).hover()
    await button(entry(page, 2), 'Compact from here').click()
    await button(entry(page, 5), 'Compact to here').click()
    const dialog = page.getByRole('dialog')
    const text = dialog.getByLabel('The model will read this instead')
    await dialog.getByText('fewer in every later call').waitFor()
    assert.match(await text.inputValue(), /report/)
    await text.fill('The agent read the report and ran the tests: all pass.')
    await button(dialog, 'Use this summary').click()
    await page.getByLabel('Instead of entries 2–5').getByText('The agent read the report').waitFor()
    await page.getByLabel('Tokens by kind').getByText('Inserted').waitFor({ state: 'attached' })
    await button(entry(page, 3), 'Undo for entries 2–5').click()
    await page.getByLabel('Instead of entries 2–5').waitFor({ state: 'detached' })
  })

  test('a session can be forked at an entry', async () => {
    await entry(page, 1).hover()
    await button(entry(page, 1), 'Fork here').click()
    await button(page.getByLabel('Notices'), 'Open').click()
    await page.locator('.session-own-id', { hasText: `${session.id}-fork-1` }).waitFor()
    await page.locator('[data-total="2"]').waitFor()
  })

  test('the search marks hidden hits and jumps to them', async () => {
    await page.keyboard.press('/')
    await page.getByLabel('Search this session').fill('slow query')
    const hit = page.locator('.hit').first()
    await hit.getByText('out of view').waitFor()
    assert.ok((await hit.locator('mark').count()) > 0)
    await hit.click()
    await page.waitForURL(/entry=7/)
    await entry(page, 7).waitFor()
  })

  test('the calls are plotted, and a click on a plot selects the call', async () => {
    const plot = page.getByRole('img', { name: /^Tokens: / })
    const box = (await plot.boundingBox())!
    await page.mouse.click(box.x + 2, box.y + 40)
    await page.getByTestId('scrubber-text').getByText('Call 1 of 8').waitFor()
    await page.getByText('The cache was never lost.').waitFor()
  })

  test('pending edits of the policy are shown with their sum', async () => {
    await page.getByRole('tab', { name: 'Pending' }).click()
    await page.getByText('No policy', { exact: true }).waitFor()
    const thrifty = await web.pal.session('held-back', { policy: 'thrifty', model: 'claude-sonnet-4-5' })
    await thrifty.append(...longConversation(400))
    const asked = await fetch(`${web.url}/sessions/held-back/pending`)
    const pending: Pending = JSON.parse(await asked.text())
    assert.ok(pending.decision && pending.now.length + pending.later.length > 0, 'there is something to tell')
    await page.goto(`${web.url}/#/sessions/held-back`)
    await page.getByRole('tab', { name: 'Pending' }).click()
    await page.getByText(pending.decision).waitFor()
    assert.equal(await page.locator('.held li').count(), pending.now.length + pending.later.length)
  })

  test('entries of another process appear by themselves', async () => {
    await session.append({ role: 'user', parts: [{ type: 'text', text: 'And on Mondays?' }] })
    await page.locator('[data-total="18"]').waitFor()
    await page.goto(`${web.url}/#/sessions/${session.id}?entry=17`)
    await part(page, 17).getByText('And on Mondays?').waitFor()
  })

  test('axe finds nothing serious, light and dark, on a wide screen and a phone, and in the dialogs', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 390]) {
        const other = await web.page(`#/sessions/${session.id}`, { colorScheme, viewport: { width, height: 844 } })
        await part(other, 0).waitFor()
        await other.getByRole('img', { name: /^Tokens: / }).waitFor()
        assert.deepEqual(await seriousFindings(other), [], `${colorScheme} ${width}`)
        const overflow = await other.evaluate('document.documentElement.scrollWidth - innerWidth')
        assert.ok(Number(overflow) <= 0, `no sideways scrolling at ${width}`)
        await button(part(other, 1), 'Shorten').click()
        await other.getByRole('dialog').waitFor()
        assert.deepEqual(await seriousFindings(other), [], `dialog ${colorScheme} ${width}`)
        await other.close()
      }
    }
  })

  test('a missing session gives an error with its code', async () => {
    await page.goto(`${web.url}/#/sessions/no-such-session`)
    await page.getByRole('alert').getByText('SESSION_NOT_FOUND').waitFor()
  })
})
