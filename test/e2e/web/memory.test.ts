/** Memory in a real browser: proposals decided by mouse and by keyboard, conflicts, blocks and their history. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { ProposalInput } from '../../../src/memory/memory.ts'
import { openSample } from '../../../src/session/sample.ts'
import { seriousFindings } from './axe.ts'
import { openWeb, skip, type Web } from './harness.ts'

const USER = 'alice'
const by = `user:${USER}` as const
const EVIL = '<img src=x onerror="document.title=1"><script>document.title=2</script> [link](javascript:alert(1))'

describe('memory', { skip }, () => {
  let web: Web
  before(async () => {
    web = await openWeb()
    await openSample(web.pal)
  })
  after(() => web?.close())

  const set = (label: string, body: string) => web.memory.set(USER, label, { body, by })
  const bodyOf = async (label: string) => (await web.memory.block(USER, label))?.body
  const propose = (label: string, input: Partial<ProposalInput> & Pick<ProposalInput, 'body'>) =>
    web.memory.propose(USER, label, { kind: 'edit', agentId: 'tutor', reasoning: 'they said so', ...input })
  const openInbox = async (label: string) => {
    const page = await web.page(`#/memory?user=${USER}`)
    await item(page, label).first().click()
    await page.getByRole('article', { name: `Proposal for ${label}` }).waitFor()
    return page
  }
  const item = (page: Page, label: string) =>
    page.getByRole('region', { name: 'Proposals' }).getByRole('button', { name: new RegExp(`^${label}`) })
  const told = (page: Page, text: string | RegExp) =>
    page.getByRole('region', { name: 'Notices' }).getByText(text).first().waitFor()

  test("shows a proposal's text, its reason, its conversation and its hidden characters", async () => {
    await set('goals', 'Learn Go.\nRun daily.\n')
    await propose('goals', {
      body: { type: 'replace', old: 'Learn Go', new: 'Learn Ru\u200bst \u202eand Zig' },
      reasoning: `She asked for it. ${EVIL}`,
      confidence: 'low',
      entries: [{ session: 'sample', entry: 3 }],
    })
    const page = await openInbox('goals')
    const review = page.getByRole('article', { name: 'Proposal for goals' })
    await review.getByText('1 zero-width space (U+200B)', { exact: false }).waitFor()
    assert.equal(await review.locator('del').first().innerText(), 'Go')
    assert.match(await review.locator('ins').first().innerText(), /⟨U\+200B⟩/)
    assert.match(await review.innerText(), /low confidence/)
    assert.ok((await review.innerText()).includes('<script>'), 'markup is text')
    await review.getByRole('link', { name: /sample, entry 3/ }).click()
    await page.getByRole('heading', { name: /weekly report/, level: 1 }).waitFor()
    assert.match(page.url(), /entry=3/)
    assert.deepEqual(web.problems, [])
  })

  test('marks text from tools, and names existing similar text', async () => {
    await set('plants', 'Water the ferns on Mondays\n')
    await set('garden', '')
    await propose('garden', {
      body: { type: 'append', text: 'water the ferns on Mondays' },
      entries: [{ session: 'sample', entry: 4, source: 'tool' }],
    })
    const page = await openInbox('garden')
    const review = page.getByRole('article', { name: 'Proposal for garden' })
    await review.getByText('From tool output', { exact: false }).waitFor()
    await review.getByRole('link', { name: 'sample, entry 4 (tool output)' }).waitFor()
    await review.getByText('Memory already has something similar:').waitFor()
    assert.match(await review.getByRole('listitem').first().innerText(), /plants: Water the ferns/)
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await told(page, /garden/)
    assert.deepEqual(web.problems, [])
  })

  test('can be searched by block, and outdated blocks are marked', async () => {
    await set('tools', 'Uses Node 22 (valid until 2020-01-01)\n')
    const page = await web.page(`#/memory?user=${USER}&tab=blocks`)
    await page.getByLabel('Search blocks').fill('node versions used')
    const list = page.getByRole('region', { name: 'Blocks' })
    await list.getByRole('button', { name: /^tools/ }).click()
    await page.getByText('stale since 2020-01-01').waitFor()
    assert.equal(await list.getByRole('button', { name: /^goals/ }).count(), 0)
    assert.deepEqual(web.problems, [])
  })

  test('offers undo after an approval', async () => {
    const page = await openInbox('goals')
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await told(page, 'Approved: goals.')
    assert.match((await bodyOf('goals')) ?? '', /Zig/)
    await page.getByRole('button', { name: 'Revert', exact: true }).click()
    await told(page, 'Reverted.')
    assert.equal(await bodyOf('goals'), 'Learn Go.\nRun daily.\n')
  })

  test('can be decided by keyboard: j and k move, e edits, a approves, r asks for the reason and rejects', async () => {
    await set('food', 'Bread.\n')
    await propose('food', { body: { type: 'append', text: 'Cheese.\n' } })
    await propose('food', { body: { type: 'append', text: 'Olives.\n' } })
    const page = await web.page(`#/memory?user=${USER}`)
    await page.getByRole('article', { name: 'Proposal for food' }).getByText('Olives.').waitFor()
    await page.keyboard.press('j')
    await page.getByRole('article', { name: 'Proposal for food' }).getByText('Cheese.').waitFor()
    await page.keyboard.press('k')
    await page.getByRole('article', { name: 'Proposal for food' }).getByText('Olives.').waitFor()
    await page.keyboard.press('e')
    await page.getByLabel('The block as you want it').fill('Bread and olives.\n')
    await page.getByRole('button', { name: 'Approve as written here' }).press('Enter')
    await told(page, 'Approved: food.')
    assert.equal(await bodyOf('food'), 'Bread and olives.\n')
    await page.keyboard.press('r')
    await page.getByRole('dialog').getByLabel('Reason (optional)').fill('not this one')
    await page.keyboard.press('Enter')
    await told(page, 'Rejected.')
    const [rejected] = await web.memory.proposals(USER, { state: 'rejected' })
    assert.equal(rejected?.decision?.why, 'not this one')
    await propose('food', { body: { type: 'append', text: 'Figs.\n' } })
    await page.getByText('Figs.').waitFor()
    await page.keyboard.press('a')
    await told(page, 'Approved: food.')
    assert.match((await bodyOf('food')) ?? '', /Figs/)
  })

  test('allows several decisions at once; a proposal in conflict stays open with a message', async () => {
    await set('pets', 'A cat.\n')
    await set('plants', 'A fern.\n')
    await propose('pets', { body: 'Two cats.\n' })
    await propose('plants', { body: 'Two ferns.\n' })
    await set('plants', 'No ferns.\n')
    const page = await web.page(`#/memory?user=${USER}`)
    for (const label of ['pets', 'plants']) await page.getByLabel(`Tick the proposal for ${label}`).check()
    await page.getByRole('button', { name: 'Approve 2' }).click()
    await told(page, /Approved 1.*plants/)
    assert.equal(await bodyOf('pets'), 'Two cats.\n')
    assert.equal(await bodyOf('plants'), 'No ferns.\n')
  })

  test('shows a conflict in three columns, with a choice that can be edited', async () => {
    const page = await openInbox('plants')
    const conflict = page.getByRole('region', { name: 'Conflict' })
    const sides = await conflict.locator('.conflict-side').allInnerTexts()
    assert.deepEqual(
      sides.map(text => text.trim().split('\n').at(-1)),
      ['A fern.', 'No ferns.', 'Two ferns.'],
    )
    const approve = page.getByRole('button', { name: 'Approve as written here' })
    assert.equal(await approve.isDisabled(), true)
    await conflict.getByRole('button', { name: 'Use this' }).click()
    const field = page.getByLabel('The block as you want it')
    assert.equal(await field.inputValue(), 'Two ferns.\n')
    await field.fill('Two ferns, in the hall.\n')
    await approve.click()
    await told(page, 'Approved: plants.')
    assert.equal(await bodyOf('plants'), 'Two ferns, in the hall.\n')
  })

  test('lists approvals with undo; if the block has changed since, it is done by hand', async () => {
    await set('plants', 'Two ferns, in the hall.\nA cactus.\n')
    const page = await web.page(`#/memory?user=${USER}&state=approved`)
    const revert = async (label: string) => {
      await item(page, label).first().click()
      const review = page.getByRole('article', { name: `Proposal for ${label}` })
      await review.getByRole('button', { name: 'Revert', exact: true }).click()
    }
    await revert('pets')
    await told(page, 'Reverted: pets.')
    assert.equal(await bodyOf('pets'), 'A cat.\n')
    await revert('plants')
    await page.getByRole('region', { name: 'Conflict' }).getByRole('button', { name: 'Use this' }).click()
    await page.getByLabel('The block as you want it').fill('No ferns.\nA cactus.\n')
    await page.getByRole('button', { name: 'Revert to this' }).click()
    await told(page, 'Reverted: plants.')
    assert.equal(await bodyOf('plants'), 'No ferns.\nA cactus.\n')
  })

  test('can write, edit, review, delete and restore a block', async () => {
    const page = await web.page(`#/memory?user=${USER}&tab=blocks`)
    await page.getByRole('button', { name: 'New block' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Label, such as goals').fill('evil')
    await dialog.getByLabel('Text').fill(`${EVIL}\n`)
    await dialog.getByRole('button', { name: 'Create it' }).click()
    await page.getByRole('heading', { name: 'evil' }).waitFor()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('textbox', { name: 'Text' }).fill('Tamed.\n')
    await page.getByRole('button', { name: 'Save' }).click()
    await told(page, 'Saved evil.')
    const history = page.getByRole('region', { name: 'History' })
    await history.getByText('Tamed.').waitFor()
    assert.equal(await history.getByRole('listitem').count(), 2)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('This block was deleted', { exact: false }).waitFor()
    await page.getByRole('button', { name: 'Restore it' }).click()
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
    assert.equal(await bodyOf('evil'), 'Tamed.\n')
    assert.deepEqual(web.problems, [])
  })

  test('shows a concurrent change of a block while it is edited, and does not overwrite it', async () => {
    await set('shared', 'one\n')
    const page = await web.page(`#/memory?user=${USER}&tab=blocks&id=shared`)
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('textbox', { name: 'Text' }).fill('mine\n')
    await fetch(`${web.url}/users/${USER}/blocks/shared`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ body: 'theirs\n' }),
    })
    await page.getByText('Somebody changed this block while you were writing', { exact: false }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Save' }).isDisabled(), true)
    assert.equal(await bodyOf('shared'), 'theirs\n')
    await page.getByRole('button', { name: 'Continue, and compare', exact: false }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await told(page, 'Saved shared.')
    assert.equal(await bodyOf('shared'), 'mine\n')
  })

  test('has no serious findings of axe, light and dark, on a wide screen and a phone', async () => {
    await propose('food', { body: 'Nothing but figs.\n' })
    await set('food', 'Something else.\n')
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 390]) {
        for (const tab of ['', '&tab=blocks']) {
          const page = await web.page(`#/memory?user=${USER}${tab}`, { colorScheme, viewport: { width, height: 844 } })
          await page.getByRole('article').waitFor()
          assert.deepEqual(await seriousFindings(page), [], `${colorScheme} ${width} ${tab}`)
          const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
          assert.ok(Number(overflow) <= 0, `no sideways scrolling at ${width}`)
          await page.close()
        }
      }
    }
  })
})
