/** The web UI without a mouse, from the list of sessions to an approval; and every page at the width of a phone. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { AgentDesk } from '../../../src/agent/desk.ts'
import { openHome } from '../../../src/agent/open.ts'
import { ownName } from '../../../src/doors/server/users.ts'
import { offerSampleProposals, openSample, SAMPLE } from '../../../src/session/sample.ts'
import { seriousFindings } from './axe.ts'
import { openWeb, skip, type Web } from './harness.ts'

const PHONE = { width: 390, height: 844 }
const MOST_TABS = 120

describe('keyboard and phone', { skip }, () => {
  let web: Web
  before(async () => {
    const agent = new AgentDesk(() => openHome({ demo: true, demoPace: 0, home: web.pal.home, env: {} }))
    web = await openWeb({ agent })
    await openSample(web.pal)
    await offerSampleProposals(web.memory, ownName())
  })
  after(() => web?.close())

  test('keys alone can open, read, edit and review a session, and approve a proposal', async () => {
    const page = await web.page('#/sessions')
    await page.evaluate(countPointers)
    const row = page.locator(`tr[data-session="${SAMPLE}"]`)
    await row.getByText('42', { exact: true }).waitFor()
    await tabTo(page, row.getByRole('link'))
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /weekly report/, level: 1 }).waitFor()
    await throughTheParts(page)
    await undoAndRedo(page, web)
    await backAndForth(page)
    await tabTo(page, page.getByRole('navigation').getByRole('link', { name: 'Memory' }), 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('article', { name: 'Proposal for exports' }).waitFor()
    await page.keyboard.press('a')
    await page.getByLabel('Notices').getByText('Approved: exports.').waitFor()
    assert.match((await web.memory.block(ownName(), 'exports'))?.body ?? '', /semicolons/)
    assert.equal(await page.evaluate('globalThis.pointers'), 0, 'no pointer was used')
    assert.deepEqual(web.problems, [])
  })

  test('every page fits a phone: no horizontal scrolling, all controls have names, and other pages can be reached', async () => {
    const pages: [hash: string, sign: (page: Page) => Locator][] = [
      ['#/sessions', page => page.getByText('42 calls')],
      ['docs', page => page.getByRole('heading', { level: 1 })],
      [`#/sessions/${SAMPLE}`, page => page.getByRole('img', { name: /^Tokens: / })],
      [`#/sessions/${SAMPLE}?at=40&entry=65`, page => page.locator('[data-entry="65"] .part').first()],
      [`#/sessions/${SAMPLE}/compare`, page => page.getByRole('table')],
      ['#/memory', page => page.getByRole('tab', { name: /Proposals/ })],
      ['#/memory?tab=blocks', page => page.getByRole('tab', { name: /Blocks/ })],
      ['#/workspace', page => page.getByRole('heading', { level: 1 })],
      ['#/chat', page => page.getByLabel('Message to the agent')],
    ]
    for (const [hash, sign] of pages) {
      const page = await web.page(hash, { viewport: PHONE, hasTouch: true, isMobile: true })
      await sign(page).waitFor()
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      assert.ok(Number(overflow) <= 0, `${hash} is ${overflow} pixels too wide`)
      assert.deepEqual(await seriousFindings(page), [], hash)
      if (hash === 'docs') continue
      await page.getByRole('button', { name: 'Menu' }).click()
      assert.ok((await page.getByRole('navigation', { name: 'Main' }).getByRole('link').count()) >= 4)
      for (const link of await page.getByRole('navigation', { name: 'Main' }).getByRole('link').all()) {
        assert.ok((await link.boundingBox())!.height >= 24, `${hash}: a finger hits ${await link.innerText()}`)
      }
      const menu = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
      assert.ok(Number(menu) <= 0, `${hash}: the menu fits`)
      await page.close()
    }
    assert.deepEqual(web.problems, [])
  })

  test('every page fits a small window, and the list fills it', async () => {
    for (const width of [920, 1024]) {
      for (const hash of ['#/sessions', `#/sessions/${SAMPLE}`, `#/sessions/${SAMPLE}/compare`, '#/settings']) {
        const page = await web.page(hash, { viewport: { width, height: 900 } })
        await page
          .getByText(/\$0\.\d\d/)
          .first()
          .waitFor()
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width, hash)
        if (hash === '#/sessions') {
          const end = async (place: Locator) => {
            const box = (await place.boundingBox())!
            return Math.round(box.x + box.width)
          }
          const table = page.locator('table.sessions')
          assert.equal(await end(table.locator('.session-used')), (await end(table)) - 1, 'no column is empty')
          const title = (await table.locator('.session-name').boundingBox())!
          assert.ok(title.width > 150, `the title has ${title.width} pixels of ${width}`)
        }
        await page.close()
      }
    }
  })
})

/** The map has the parts in order; Enter jumps to the selected one. */
async function throughTheParts(page: Page): Promise<void> {
  const map = page.getByTestId('context-map')
  await tabTo(page, map)
  const said = async () => (await map.getAttribute('aria-valuetext')) ?? ''
  await page.keyboard.press('Home')
  assert.match(await said(), /^system /)
  for (let n = 0; n < MOST_TABS && !/logs\/reports\.log, entry 15,.* shown as/.test(await said()); n++) {
    await page.keyboard.press('ArrowRight')
  }
  assert.match(await said(), /logs\/reports\.log, entry 15, 6,\d+ tokens, shown as \d+/)
  await page.keyboard.press('Enter')
  await page.waitForURL(/entry=15/)
  await page.locator('[data-entry="15"].entry-chosen, [data-entry="15"] .entry-chosen').waitFor()
}

async function undoAndRedo(page: Page, web: Web): Promise<void> {
  await tabTo(page, page.getByRole('tab', { name: 'Calls' }))
  for (let n = 0; n < 3 && (await page.locator('[data-edit]').count()) === 0; n++)
    await page.keyboard.press('ArrowRight')
  const [last] = await page.locator('[data-edit]').all()
  const id = await last!.getAttribute('data-edit')
  const isActive = async () => {
    const session = await web.pal.session(SAMPLE)
    return session.edits().find(({ edit }) => edit.id === id)?.active
  }
  const button = page.locator(`[data-edit="${id}"]`).getByRole('button', { name: /Undo|Redo/ })
  await tabTo(page, button)
  await page.keyboard.press('Enter')
  await button.getByText('Redo').waitFor()
  assert.equal(await isActive(), false)
  assert.equal(await isFocused(button), true, 'one stays where one was')
  await page.keyboard.press('Space')
  await button.getByText('Undo').waitFor()
  assert.equal(await isActive(), true)
}

/** Brackets step through the calls from anywhere; on the slider, arrows do. */
async function backAndForth(page: Page): Promise<void> {
  const text = page.getByTestId('scrubber-text')
  await page.keyboard.press('[')
  await text.getByText('Call 42 of 42').waitFor()
  await tabTo(page, page.getByLabel('Call', { exact: true }), 'Shift+Tab')
  await page.keyboard.press('ArrowLeft')
  await text.getByText('Call 41 of 42').waitFor()
  await page.keyboard.press('0')
  await text.getByText('Now').waitFor()
}

/** Moves the focus with the keyboard; it is visible all the way. */
async function tabTo(page: Page, goal: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await goal.waitFor()
  for (let n = 0; n < MOST_TABS; n++) {
    if (await isFocused(goal)) return
    await page.keyboard.press(key)
    assert.equal(await page.evaluate(isFocusSeen), '', 'what has the focus is marked')
  }
  assert.fail(`${MOST_TABS} tabs did not lead to ${goal}`)
}

function isFocused(goal: Locator): Promise<boolean> {
  return goal.evaluate(element => element === document.activeElement)
}

/** In the page: the focused element if it has no ring, or nothing. */
function isFocusSeen(): string {
  const element = document.activeElement
  if (!element || element === document.body || element.id === 'main') return ''
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const isMarked = outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1
  return isMarked ? '' : element.outerHTML.slice(0, 200)
}

/** In the page. Keys on a button also cause a click, but no pointer event. */
function countPointers(): void {
  const page = globalThis as unknown as { pointers: number }
  page.pointers = 0
  addEventListener('pointerdown', () => page.pointers++, { capture: true })
}
