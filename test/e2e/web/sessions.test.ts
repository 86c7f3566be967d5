/** The list of sessions in a real browser: first start, numbers, search, import, sign-in, two tabs, a restart. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { TranscriptSession } from '../../../src/formats/transcripts/sessions.ts'
import { importSession } from '../../../src/session/import-transcript.ts'
import { openSample } from '../../../src/session/sample.ts'
import { checkEveryLook } from './axe.ts'
import { longConversation, openWeb, skip, type Web } from './harness.ts'

/** A minimal session in the format of Claude Code. */
const TRANSCRIPT = [
  { type: 'user', uuid: 'u1', parentUuid: null, message: { role: 'user', content: 'What is two and two?' } },
  {
    type: 'assistant',
    uuid: 'u2',
    parentUuid: 'u1',
    message: { id: 'm1', role: 'assistant', content: [{ type: 'text', text: 'Four.' }] },
  },
]
  .map((line, i) => ({ ...line, sessionId: 'recorded', timestamp: `2026-05-01T10:00:0${i}.000Z` }))
  .map(line => JSON.stringify(line))
  .join('\n')

const RECORDED: TranscriptSession = {
  id: '',
  messages: [longConversation(1)[0]!, longConversation(4)[3]!],
  carried: 0,
  usage: [],
}

const row = (page: Page, session: string) => page.locator(`tr[data-session="${session}"]`)

describe('the list of sessions', { skip }, () => {
  let web: Web
  before(async () => {
    web = await openWeb()
    await openSample(web.pal)
  })
  after(() => web?.close())

  test('shows the sample and the next steps at the first start', async () => {
    const page = await web.page()
    await page.getByLabel('What to do next').waitFor()
    assert.equal(await page.getByLabel('What to do next').locator('li').count(), 3)
    await row(page, 'sample').getByText('42', { exact: true }).waitFor()
    assert.match(await row(page, 'sample').innerText(), /weekly report leaves out Sunday/)
    assert.match(await row(page, 'sample').innerText(), /\$0\.\d\d\s+\$0\.\d\d \d+ %/)
    assert.equal(await page.locator('svg.sparkline').count(), 1)
    await row(page, 'sample').getByRole('link').click()
    await page.getByRole('heading', { name: /weekly report/, level: 1 }).waitFor()
    assert.deepEqual(web.problems, [])
  })

  test('has no serious findings of axe, light and dark, on a wide screen and a phone', async () => {
    await checkEveryLook(web, '#/sessions', page => row(page, 'sample').getByText('$').first().waitFor())
  })

  test('imports a chosen or dropped transcript, and explains a broken one', async () => {
    const page = await web.page()
    const file = { mimeType: 'application/jsonl', buffer: Buffer.from(TRANSCRIPT) }
    const imports = page.getByRole('region', { name: 'Imports' })
    await page.locator('input[type=file]').setInputFiles([{ name: 'chosen.jsonl', ...file }])
    await imports.getByRole('link').waitFor()
    await imports.getByRole('button', { name: 'Dismiss' }).click()
    assert.equal(await imports.count(), 0)
    await dropFile(page, 'dropped.json', 'this is no transcript')
    await imports.locator('.problem').waitFor()
    assert.match(await imports.innerText(), /dropped\.json/)
    await row(page, 'recorded').waitFor()
    assert.equal(await page.getByLabel('What to do next').count(), 0, 'the welcome is for a first start')
  })

  test('asks before importing a file with many sessions, and can undo the import at once', async () => {
    const page = await web.page()
    const ledger = (i: number) => [{ seq: 0, at: i, type: 'entry', message: { role: 'user', parts: [text(`n ${i}`)] } }]
    const text = (said: string) => ({ type: 'text', text: said })
    const sessions = Array.from({ length: 30 }, (_, i) => ({ id: `many-${i}`, model: 'gpt-5', ledger: ledger(i) }))
    const imports = page.getByRole('region', { name: 'Imports' })
    await dropFile(page, 'many.json', JSON.stringify({ format: 'palimpsest-sessions', version: 1, sessions }))
    await imports.getByText(/30 sessions, \d KB/).waitFor()
    assert.equal(await web.pal.find('many-0'), undefined)
    await imports.getByRole('button', { name: 'Import them' }).click()
    await imports.getByText('and 27 more').waitFor()
    assert.ok(await web.pal.find('many-29'))
    await imports.getByRole('button', { name: 'Undo' }).click()
    await imports.waitFor({ state: 'detached' })
    assert.equal(await web.pal.find('many-0'), undefined)
    assert.ok(await web.pal.find('sample'))
  })

  test('finds sessions by name, and shows where a text occurs', async () => {
    const page = await web.page()
    await row(page, 'recorded').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('sam')
    await row(page, 'recorded').waitFor({ state: 'detached' })
    assert.equal(await page.locator('tr[data-session]').count(), 1)
    await page.getByLabel('Search sessions').fill('mailed attachments')
    const hit = page.getByRole('region', { name: 'In the conversations' }).getByRole('link').first()
    await hit.getByText('out of view').waitFor()
    await page.getByLabel('Tool').fill('no_such_tool')
    await page.getByText('Nothing was found.').waitFor()
    await page.getByLabel('Tool').fill('')
    await page.getByLabel('until').fill('2020-01-01')
    await page.getByText('Nothing was found.').waitFor()
    await page.getByLabel('until').fill('')
    await hit.click()
    await page.locator('[data-entry="15"]').waitFor()
    assert.match(page.url(), /#\/sessions\/sample\?entry=15/)
  })

  test('shows a session from another tab or process by itself', async () => {
    const [one, two] = [await web.page(), await web.page()]
    await Promise.all([row(one, 'sample').waitFor(), row(two, 'sample').waitFor()])
    const session = await web.pal.session('made-elsewhere')
    await session.append(...longConversation(4))
    await Promise.all([row(one, 'made-elsewhere').waitFor(), row(two, 'made-elsewhere').waitFor()])
    await row(one, 'made-elsewhere').getByText('2', { exact: true }).waitFor()
    await row(one, 'made-elsewhere').getByRole('img', { name: 'active' }).waitFor()
    assert.equal(await row(one, 'sample').getByRole('img', { name: 'active' }).count(), 0, 'its dates are old')
  })

  test('has a strip with the sums of the week, and a bar filters the list by day', async () => {
    const session = await web.pal.session('this-week')
    const at = Date.now() - 1000
    await session.append({ ...longConversation(1)[0]!, at }, { ...longConversation(4)[3]!, at })
    await session.record({ type: 'usage', usage: { input: 2_000_000, output: 1000, model: 'claude-opus-4-5' } })
    const page = await web.page()
    const strip = page.getByRole('region', { name: 'This week' })
    await strip.getByText('Agents cost').waitFor()
    const { week, days } = await (await fetch(`${web.url}/overview`)).json()
    assert.ok(week.billed > 10, 'two million tokens of input')
    assert.equal(days.length, 30)
    // The page reads the new session in the background.
    await strip.getByText(`Agents cost $${week.billed.toFixed(2)}`).waitFor()
    await row(page, 'this-week').getByRole('img', { name: 'active' }).waitFor()
    await strip
      .getByRole('button', { name: /billed/ })
      .last()
      .click()
    await row(page, 'recorded').waitFor({ state: 'detached' })
    await row(page, 'this-week').waitFor()
    await page.getByLabel('Used').selectOption('')
    await row(page, 'recorded').waitFor()
  })

  test('can be sorted by columns and filtered by agent and project, and the address keeps the choice', async () => {
    await importSession(web.pal, { ...RECORDED, id: 'in-a-project', cwd: '/home/ada/harbour' }, { client: 'codex' })
    const page = await web.page()
    await row(page, 'in-a-project').waitFor()
    await page.getByRole('button', { name: 'Billed', exact: true }).click()
    await page.locator('th[aria-sort=descending]', { hasText: 'Billed' }).waitFor()
    await page.locator('tr[data-session]').first().and(row(page, 'this-week')).waitFor()
    await page.getByLabel('Project').selectOption('harbour')
    await row(page, 'sample').waitFor({ state: 'detached' })
    assert.equal(await page.locator('tr[data-session]').count(), 1)
    await page.reload()
    await row(page, 'in-a-project').waitFor()
    assert.equal(await page.locator('tr[data-session]').count(), 1)
    await page.getByLabel('Agent').selectOption('claude-code')
    await page.getByRole('button', { name: 'Clear the filters' }).click()
    await row(page, 'sample').waitFor()
  })

  test('groups forks and subagents under their session, with one sum', async () => {
    await importSession(web.pal, { ...RECORDED, id: 'long' })
    await importSession(web.pal, { ...RECORDED, id: 'long#2', parent: 'long', reason: 'compaction' })
    await importSession(web.pal, { ...RECORDED, id: 'long#2/a', parent: 'long#2', reason: 'sub-agent' })
    const page = await web.page()
    await row(page, 'long').getByText('3', { exact: true }).waitFor()
    assert.equal(await row(page, 'long#2').count(), 0)
    await row(page, 'long').getByRole('button', { name: '1 segment, 1 subagent' }).click()
    assert.equal(await page.locator('.session-nested').count(), 3)
    await page.locator('.session-nested', { hasText: 'subagent' }).getByRole('link').click()
    await page.waitForURL(/long%232%2Fa/)
  })

  test('finds a session by its title and tags, and keeps its name', async () => {
    const page = await web.page()
    await row(page, 'long').hover()
    await row(page, 'long').getByRole('button', { name: 'Rename and tag' }).click()
    await page.getByLabel('Title').fill('Harbour lights')
    await page.getByLabel('Tags, separated by commas').fill('night, work')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await row(page, 'long').getByRole('link', { name: 'Harbour lights' }).waitFor()
    await row(page, 'long').getByRole('link', { name: 'night' }).click()
    await row(page, 'sample').waitFor({ state: 'detached' })
    assert.equal(await page.getByLabel('Tag', { exact: true }).inputValue(), 'night')
    await page.getByLabel('Tag', { exact: true }).selectOption('')
    await row(page, 'sample').waitFor()
    await page.getByLabel('Search sessions').fill('harbour li')
    await row(page, 'sample').waitFor({ state: 'detached' })
    assert.equal(await page.locator('tr[data-session]').count(), 1)
    assert.equal((await web.pal.find('long'))?.about.title, 'Harbour lights')
  })

  test('shows a restart of the server, and reconnects by itself', async () => {
    const page = await web.page()
    await row(page, 'sample').waitFor()
    const state = page.getByTestId('connection')
    await web.restart(() => state.getByText('Connection lost').waitFor())
    await state.getByText('Reconnected').waitFor()
    const session = await web.pal.session('after-the-restart')
    await session.append(...longConversation(4))
    await row(page, 'after-the-restart').waitFor()
  })

  test('keeps the chosen colours', async () => {
    const page = await web.page('', { colorScheme: 'light' })
    const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    const light = await background()
    await page.getByRole('button', { name: /^Colours: system/ }).click()
    await page.getByRole('button', { name: /^Colours: light/ }).click()
    const dark = await background()
    assert.notEqual(dark, light)
    await page.reload()
    assert.equal(await background(), dark)
  })
})

test('asks for a required token, refuses a wrong one, and forgets it when the tab closes', {
  skip,
}, async t => {
  const web = await openWeb({ requireToken: true })
  t.after(() => web.close())
  await openSample(web.pal)
  const { token } = await web.store.createToken({ user: 'ada', role: 'admin', name: '', at: Date.now() })
  const page = await web.page()
  const signIn = page.getByRole('button', { name: 'Sign in' })
  await page.getByLabel('Token').fill('pal_wrong')
  await signIn.click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Token').fill(token)
  await signIn.click()
  await row(page, 'sample').waitFor()
  const other = await web.page()
  await other.getByRole('button', { name: 'Sign in' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await signIn.waitFor()
})

async function dropFile(page: Page, name: string, text: string): Promise<void> {
  const data = await page.evaluateHandle(
    ([name, text]) => {
      const transfer = new DataTransfer()
      transfer.items.add(new File([text], name))
      return transfer
    },
    [name, text] as const,
  )
  await page.dispatchEvent('main', 'dragover', { dataTransfer: data })
  await page.locator('.import-over').waitFor()
  await page.dispatchEvent('main', 'drop', { dataTransfer: data })
}
