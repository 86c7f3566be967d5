/** Chat with the agent in a real browser: the real agent and its tools, with the scripted model of the demo. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { AgentDesk } from '../../../src/agent/desk.ts'
import { openHome } from '../../../src/agent/open.ts'
import { checkEveryLook } from './axe.ts'
import { openWeb, skip, type Web } from './harness.ts'

describe('the chat', { skip }, () => {
  let web: Web
  before(async () => {
    const agent = new AgentDesk(() => openHome({ demo: true, demoPace: 0, home: web.pal.home, env: {} }))
    web = await openWeb({ agent })
  })
  after(() => web?.close())

  const ask = async (page: Page, text: string) => {
    await page.getByLabel('Message to the agent').fill(text)
    await page.keyboard.press('Enter')
  }
  const question = (page: Page) => page.getByRole('alertdialog')
  const ended = (page: Page) => page.getByRole('button', { name: 'Send' }).waitFor()

  test('shows a running turn beside its context, and asks for approval of a command', async () => {
    const page = await web.page('#/chat')
    await ask(page, 'Mend <b>the</b> total <script>document.title="x"</script>')
    await question(page).getByText('Run this command?').waitFor()
    assert.match(page.url(), /#\/chat\/chat-/)
    await page.keyboard.press('y')
    await page.locator('.chat-tool-done', { hasText: 'run_command' }).waitFor()
    await question(page).getByText('Run this command?').waitFor()
    await page.keyboard.press('y')
    await page.getByText('With a real model behind it').waitFor()
    await ended(page)
    const side = page.getByRole('complementary', { name: 'Context' })
    await side.getByTestId('context-map').waitFor()
    assert.equal((await page.locator('.chat-tool-done').count()) > 5, true)
    await page.getByRole('button', { name: /read_file README\.md/ }).click()
    await page.getByText('A cart and its total.').waitFor()
    assert.equal(await page.locator('.chat-user script, .chat-text script').count(), 0)
    const items = await page.locator('.chat-items > *').count()
    const waiting = page.getByText('Memory: 1 change waits for your decision.')
    await waiting.waitFor()
    await page.reload()
    await page.getByText('With a real model behind it').waitFor()
    await waiting.getByRole('link', { name: 'Review' }).waitFor()
    assert.equal(await page.locator('.chat-items > *').count(), items, 'what was streamed is what is read later')
    const { own } = await (await fetch(`${web.url}/users`)).json()
    const [proposal] = await web.memory.proposals(own, { state: 'open' })
    await web.memory.reject(own, proposal!.id, { by: `user:${own}` })
    await waiting.waitFor({ state: 'detached' })
    assert.deepEqual(web.problems, [])
  })

  test('can be continued from the list of earlier chats', async () => {
    const page = await web.page('#/chat')
    await page.getByLabel('Earlier chats').selectOption({ index: 1 })
    await page.getByText('With a real model behind it').waitFor()
    await ask(page, 'And now?')
    await page.locator('.chat-user').getByText('And now?').waitFor()
    await ended(page)
    const after = page.locator('.chat-user', { hasText: 'And now?' }).locator('~ .chat-text')
    await after.first().waitFor()
    await page.getByRole('button', { name: 'New chat' }).click()
    await page.getByText('What should it do?').waitFor()
  })

  test('still asks for approval after the page was left, and a refusal reaches the agent', async () => {
    const page = await web.page('#/chat')
    await ask(page, 'Look around')
    await question(page).waitFor()
    const address = page.url()
    await page.goto('about:blank')
    await page.goto(address)
    await question(page).getByText('node --test').waitFor()
    await page.locator('.chat-user').waitFor()
    assert.equal(await page.locator('.chat-user').count(), 1)
    await question(page)
      .getByRole('button', { name: /Refuse/ })
      .click()
    await page.getByText('Without the tests, I read the code', { exact: false }).waitFor()
    await ended(page)
  })

  test('can stop a turn, and the session is kept', async () => {
    const page = await web.page('#/chat')
    await ask(page, 'Look around')
    await question(page).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await ended(page)
    await page.getByRole('complementary').getByRole('link', { name: 'Open the session' }).click()
    await page.getByText('Look around').first().waitFor()
  })

  test('has no serious findings of axe, light and dark, on a wide screen and a phone', async () => {
    const [session] = await web.pal.sessions({ limit: 1 })
    await checkEveryLook(web, `#/chat/${session!.id}`, async page => {
      await page.getByTestId('context-map').waitFor()
      await page.locator('.chat-tool').first().waitFor()
    })
  })
})

test('reports that there is no agent', { skip }, async () => {
  const web = await openWeb()
  const page = await web.page('#/chat')
  await page.getByRole('alert').getByText('This server has no agent.').waitFor()
  await web.close()
})
