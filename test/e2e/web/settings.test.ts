/** The settings page in a real browser: the knob with its preview, agents and projects, and the source of each setting. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openSample } from '../../../src/session/sample.ts'
import { checkEveryLook } from './axe.ts'
import { openWeb, skip, type Web } from './harness.ts'

describe('settings', { skip }, () => {
  let web: Web
  let file: string
  before(async () => {
    web = await openWeb({ given: { env: { OPENAI_BASE_URL: 'http://gateway.example/v1' } } })
    file = join(dirname(web.pal.home), 'palimpsest.json')
    await openSample(web.pal)
  })
  after(() => web?.close())

  const written = () => JSON.parse(readFileSync(file, 'utf8') || '{}')

  test('show the cost of each position of the knob first, and write the chosen one into the file', async () => {
    const page = await web.page('#/settings')
    await page.getByText('This is the current setting.').waitFor()
    const cost = () => page.locator('.knob-facts dd').first().innerText()
    const before = await cost()
    const save = page.getByRole('button', { name: 'Keep this setting' })
    assert.equal(await save.isDisabled(), true)
    await page.getByRole('button', { name: 'least', exact: true }).click()
    await page.getByText(/less than with normal/).waitFor()
    assert.ok(Number(before.slice(1)) > Number((await cost()).slice(1)))
    assert.match(await page.locator('.scatter-best').innerHTML(), /thrifty · least/)
    await save.click()
    await page.getByText('keep is least, from the next call on.').waitFor()
    assert.equal(written().keep, 'least')
    assert.equal(web.pal.settings.tuning?.keep, 'least')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('slider').and(page.locator('[aria-valuetext=normal]')).waitFor()
    assert.equal(written().keep, undefined)
    await page.getByRole('slider').focus()
    for (let i = 0; i < 6; i++) await page.keyboard.press('ArrowRight')
    await page
      .getByText(/× 1\.\d/)
      .first()
      .waitFor()
    assert.deepEqual(web.problems, [])
  })

  test('can be set for one agent, and reset', async () => {
    const page = await web.page('#/settings')
    await page.getByLabel('How much is kept for palimpsest:default').selectOption('more')
    const row = page.getByRole('row', { name: /^Agent Palimpsest/ })
    await row.getByText('palimpsest.json').waitFor()
    assert.deepEqual(written().byAgent, { 'palimpsest:default': { keep: 'more' } })
    await row.getByRole('button', { name: /^Reset/ }).click()
    await row.getByText('default', { exact: true }).waitFor()
    assert.equal(written().byAgent, undefined)
  })

  test('name the source of each value, and an invalid value is refused with the reason', async () => {
    const page = await web.page('#/settings')
    const upstream = page.getByRole('listitem').filter({ hasText: 'upstreams.openai' })
    await upstream.getByText('environment').waitFor()
    await upstream.getByText('OPENAI_BASE_URL').waitFor()
    assert.equal(await upstream.getByRole('button').count(), 0)
    const change = async (to: string) => {
      await page.getByRole('button', { name: 'Change marks.budget' }).click()
      await page.getByLabel('marks.budget', { exact: true }).fill(to)
      await page.keyboard.press('Enter')
    }
    await change('7')
    await page.getByText(/marks\.budget is 7: Too big/).waitFor()
    await change('0.5')
    await page.getByText('marks.budget is 0.5, from the next call on.').waitFor()
    assert.deepEqual(written().marks, { budget: 0.5 })
  })

  test('can create a token, show it once and revoke it', async () => {
    const page = await web.page('#/settings')
    await page.getByLabel('User', { exact: true }).fill('alice')
    await page.getByRole('button', { name: 'Create a token' }).click()
    const secret = await page.getByRole('dialog').locator('code').innerText()
    assert.equal((await web.store.findToken(secret, Date.now()))?.user, 'alice')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Revoke the token of alice' }).click()
    await page.getByText('The token of alice was revoked.').waitFor()
    assert.equal(await web.store.findToken(secret, Date.now()), undefined)
  })

  test('have no serious findings of axe, light and dark, on a wide screen and a phone', async () => {
    await checkEveryLook(web, '#/settings', page => page.getByText('This is the current setting.').waitFor())
  })
})

describe('settings of a server with tokens', { skip }, () => {
  let web: Web
  before(async () => {
    web = await openWeb({ requireToken: true })
  })
  after(() => web?.close())

  test('are for admins only', async () => {
    const { token } = await web.store.createToken({ user: 'alice', role: 'user', name: '', at: 1 })
    const page = await web.page('#/settings')
    await page.getByLabel('Token').fill(token)
    await page.keyboard.press('Enter')
    await page.getByText('Only admins can change settings.').waitFor()
  })
})
