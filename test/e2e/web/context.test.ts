/** The context editor and the files of a session in a real browser: price first, apply, undo, restore, file-at. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Message } from '../../../src/model/types.ts'
import { openSmall, SMALL } from '../../small-session.ts'
import { checkEveryLook } from './axe.ts'
import { openWeb, skip, type Web } from './harness.ts'

const LOG = Array.from({ length: 300 }, (_, i) => `request ${i} took ${(i * 7) % 50} ms`).join('\n')

/** A session with its last call this many milliseconds ago. */
function conversation(ago: number): Message[] {
  const at = Date.now() - ago
  const say = (role: 'user' | 'assistant', text: string): Message => ({ role, at, parts: [{ type: 'text', text }] })
  return [
    say('user', 'Why is it slow?'),
    { role: 'assistant', at, parts: [{ type: 'tool-call', id: 'c1', name: 'bash', input: { command: 'cat log' } }] },
    { role: 'tool', at, parts: [{ type: 'tool-result', id: 'c1', name: 'bash', output: LOG }] },
    say('assistant', 'The pool is too small.'),
  ]
}

describe('the context editor', { skip }, () => {
  let web: Web
  before(async () => {
    web = await openWeb()
    await openSmall(web.pal)
    const planner = 'none'
    await (await web.pal.session('warm', { planner })).append(...conversation(1000))
    await (await web.pal.session('cold', { planner })).append(...conversation(3_600_000))
    await (await web.pal.session('claude-1', { planner })).append(...conversation(7_200_000))
    const next = await web.pal.session('claude-1.2', { planner, about: { parent: 'claude-1', reason: 'compaction' } })
    await next.append({ role: 'user', parts: [{ type: 'text', text: 'This session is being continued.' }] })
  })
  after(() => web?.close())

  const shownIn = async (id: string) => {
    const session = await web.pal.session(id, { mustExist: true, asGuest: true })
    return JSON.stringify((await session.view({ plan: false })).messages)
  }

  test('shows the price of the selection first, then applies it and can undo it', async () => {
    const page = await web.page('#/sessions/warm')
    await page.getByRole('tab', { name: 'Context' }).click()
    await page.getByRole('checkbox', { name: /^bash, entry 2, / }).check()
    const price = page.getByRole('region', { name: 'Price' })
    await price.getByText(/tokens less/).waitFor()
    await price.getByText(/(this pays off after \d+ calls?|this never pays off|No cache is lost)/).waitFor()
    await price.getByText(/were quoted \d+\.\d\d times on average/).waitFor()
    assert.match(await shownIn('warm'), /request 150 took/)
    await price.getByRole('button', { name: 'Remove 1 part' }).click()
    await page.getByText(/^Removed: [\d,]+ tokens fewer\.$/).waitFor()
    assert.doesNotMatch(await shownIn('warm'), /request 150 took/)
    await page.getByRole('button', { name: 'Undo' }).first().click()
    await page.getByText(/is undone\.$/).waitFor()
    assert.match(await shownIn('warm'), /request 150 took/)
    assert.deepEqual(web.problems, [])
  })

  test('shows before a cold call what the call costs, and which edit is free now', async () => {
    const warm = await web.page('#/sessions/warm')
    await warm.getByRole('region', { name: 'Verdict' }).waitFor()
    await warm.getByRole('tab', { name: 'Context' }).click()
    await warm.locator('.editor-part').first().waitFor()
    assert.equal(await warm.getByRole('region', { name: 'Cold cache' }).count(), 0)
    const page = await web.page('#/sessions/cold')
    const notice = page.getByRole('region', { name: 'Cold cache' })
    await notice.getByText(/The next call writes [\d.]+K? tokens again, \$\d/).waitFor()
    await notice.getByRole('button').click()
    await page.getByRole('tab', { name: 'Context', selected: true }).waitFor()
    await page.getByText(/the cache is cold, so edits are free now/).waitFor()
  })

  test("shows texts that a client's compaction dropped, and restores them", async () => {
    const page = await web.page('#/sessions/claude-1.2')
    await page.getByRole('tab', { name: 'Context' }).click()
    const dropped = page.getByRole('region', { name: 'Removed by a compaction' })
    await dropped.getByRole('button', { name: 'tool-result' }).click()
    await page.getByRole('dialog').getByText('request 3 took').first().waitFor()
    await page.keyboard.press('Escape')
    await dropped.getByRole('checkbox', { name: /request 0 took/ }).check()
    await dropped.getByRole('button', { name: 'Put back 1 part' }).click()
    await page.getByText(/^Put back, after the message/).waitFor()
    assert.match(await shownIn('claude-1.2'), /put back by the user.*request 150 took/)
  })

  test('replaces a suggested stretch and a selected one', async () => {
    const page = await web.page(`#/sessions/${SMALL}`)
    await page.getByRole('tab', { name: 'Context' }).click()
    const suggestions = page.getByRole('region', { name: 'Suggestions' })
    await suggestions.getByRole('button', { name: 'Replace it' }).first().click()
    await page.getByText(/^Replaced: [\d,]+ tokens fewer\.$/).waitFor()
    await suggestions.getByText('Replace a stretch of your own').click()
    await suggestions.getByLabel('From this text').fill('nowhere to be found, this')
    await suggestions.getByLabel('to this text, inclusive').fill('nor is this text here')
    await suggestions.getByRole('button', { name: 'Replace', exact: true }).click()
    await page.locator('.toast-failed').waitFor()
  })

  test('lists file changes with their reasons, and shows a file as it was after a call', async () => {
    const page = await web.page(`#/sessions/${SMALL}`)
    await page.getByRole('tab', { name: 'Files' }).click()
    const first = page.getByRole('region', { name: 'Changes' }).getByRole('button').first()
    const path = await first.innerText()
    await first.click()
    const file = page.getByRole('region', {
      name: new RegExp(`^${path.replaceAll(/[.\\]/g, '\\$&')} after call \\d+$`),
    })
    await file.getByText('Sources').waitFor()
    assert.equal(await page.getByLabel('File', { exact: true }).inputValue(), path)
  })

  test('has no serious findings of axe, light and dark, on a wide screen and a phone', async () => {
    await checkEveryLook(web, '#/sessions/cold', async page => {
      await page.getByRole('tab', { name: 'Context' }).click()
      await page.getByRole('checkbox', { name: /^bash, entry 2, / }).check()
      await page.getByRole('region', { name: 'Price' }).getByText('Free now').waitFor()
    })
  })
})
