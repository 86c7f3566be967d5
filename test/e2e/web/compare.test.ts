/** The comparison of a session under several policies, in a real browser. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { checkEveryLook } from './axe.ts'
import { longConversation, openWeb, skip, type Web } from './harness.ts'

describe('the comparison', { skip }, () => {
  let web: Web
  before(async () => {
    web = await openWeb()
    const session = await web.pal.session('long', { policy: 'none' })
    await session.append(...longConversation(120))
    await web.pal.session('empty', {})
  })
  after(() => web?.close())

  test('has a row for each selected policy, with plots and decisions', async () => {
    const page = await web.page('#/sessions/long/compare')
    await page.getByText('Done. Nothing was recorded').waitFor()
    const rows = page.locator('.compare-table tbody tr:not(.compare-below)')
    assert.equal(await rows.count(), 7, 'everything, clear-tool-uses, and thrifty at five settings')
    await page.getByRole('row', { name: /Send everything.*in use/ }).waitFor()
    const ring = page.locator('.scatter-ring')
    assert.equal(await ring.count(), 1)
    assert.equal(await page.locator('.scatter-point').count(), 7)
    const best = page.locator('tr[data-best=true]')
    const kept = await best.locator('td').nth(2).innerText()
    assert.ok(Number.parseFloat(kept) >= 95, `the badge is for ${kept}`)
    assert.match(await page.locator('.verdict').innerText(), /is the cheapest that keeps at least 95 %: \$/)
    await page.getByRole('checkbox', { name: /^stale-output/ }).check()
    const stale = page.getByRole('row', { name: /^stale-output/ })
    await stale.waitFor()
    assert.equal(await page.locator('.plot svg').count(), 2)
    await stale.getByRole('button', { name: /edit/ }).click()
    await page
      .getByRole('dialog')
      .getByText(/^call \d+$/)
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('checkbox', { name: /^stale-output/ }).uncheck()
    await stale.waitFor({ state: 'detached' })
    assert.deepEqual(web.problems, [])
  })

  test('reports a session without calls, and a missing session', async () => {
    const page = await web.page('#/sessions/empty/compare')
    await page.getByText('There is nothing to replay yet.').waitFor()
    const none = await web.page('#/sessions/nowhere/compare')
    await none.getByRole('alert').getByText('There is no session nowhere.').waitFor()
  })

  test('has no serious findings of axe, light and dark, on a wide screen and a phone', async () => {
    await checkEveryLook(web, '#/sessions/long/compare', page => page.getByText('Done. Nothing was recorded').waitFor())
  })
})
