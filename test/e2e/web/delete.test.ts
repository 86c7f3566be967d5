/** Deleting a session on its page, in a real browser. */
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

  test('says what goes, does nothing on Cancel, and deletes for good', async () => {
    const page = await web.page(`#/sessions/${SMALL}`)
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText(/Its \d+ events, the files that only it points to/).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    assert.ok(await web.pal.find(SMALL))
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('button', { name: 'Delete for good' }).click()
    await page.waitForURL(/#\/sessions$/)
    assert.equal(await web.pal.find(SMALL), undefined)
    assert.deepEqual(web.problems, [])
  })
})
