/** Deleting a session on its page, and old sessions and users in the settings, in a real browser. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openSmall, SMALL } from '../../small-session.ts'
import { openWeb, skip, type Web } from './harness.ts'

describe('deleting a session on its page', { skip }, () => {
  let web: Web
  before(async () => {
    web = await openWeb()
    await openSmall(web.pal)
  })
  after(() => web?.close())

  test('shows what will be deleted, does nothing on Cancel, and deletes permanently', async () => {
    const page = await web.page(`#/sessions/${SMALL}`)
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText(/Its \d+ events, the files that only it points to/).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    assert.ok(await web.pal.find(SMALL))
    const other = await web.page(`#/sessions/${SMALL}`)
    for (const one of [page, other]) await one.getByRole('region', { name: 'Verdict' }).waitFor()
    const failed: string[] = []
    for (const one of [page, other]) {
      one.on('response', response => response.status() >= 400 && failed.push(response.url()))
    }
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('button', { name: 'Delete permanently' }).click()
    await page.waitForURL(/#\/sessions$/)
    assert.equal(await web.pal.find(SMALL), undefined)
    await other.getByText('This session was deleted').waitFor()
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    assert.deepEqual(failed, [], 'what is gone is not asked for again')
    assert.deepEqual(web.problems, [])
  })

  test('in the settings, old sessions and a whole user can be deleted after a preview', async () => {
    await openSmall(web.pal)
    await (await web.pal.of('alice').session('plans')).append({
      role: 'user',
      parts: [{ type: 'text', text: 'a plan' }],
    })
    const page = await web.page('#/settings')
    const form = page.locator('form', { has: page.getByLabel('Sessions last used before') })
    await form.getByLabel('Sessions last used before').fill('2000-01-01')
    await form.getByRole('button').click()
    await page.getByText('0 sessions with 0 events would be deleted.').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    const ofUser = page.locator('form', { has: page.getByLabel('Everything of the user') })
    await ofUser.getByLabel('Everything of the user').fill('alice')
    await ofUser.getByRole('button').click()
    await page.getByText('1 session with 1 event would be deleted.').waitFor()
    assert.ok(await web.pal.of('alice').find('plans'))
    await page.getByRole('button', { name: 'Delete permanently' }).click()
    await page.getByText('Deleted 1 session.').waitFor()
    assert.equal(await web.pal.of('alice').find('plans'), undefined)
    assert.ok(await web.pal.find(SMALL))
    assert.deepEqual(web.problems, [])
  })
})
