/** Finding and redacting secrets on the page of a session, in a real browser. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { openWeb, skip, type Web } from './harness.ts'

const TOKEN = `ghp_${'aB3dE5gH7jK9'.repeat(3)}`

describe('secrets on the page of a session', { skip }, () => {
  let web: Web
  before(async () => {
    web = await openWeb()
    const session = await web.pal.session('talk')
    await session.append({
      role: 'user',
      parts: [{ type: 'text', text: `the token is ${TOKEN}, the word is xylophone, the code is AB-123` }],
    })
  })
  after(() => web?.close())

  test('are reported before a session is shared, and redacted in the file, which opens offline', async () => {
    const page = await web.page('#/sessions/talk')
    await page.getByRole('button', { name: 'Share', exact: true }).click()
    await page.getByText('1 place with a possible key or token will be redacted.').waitFor()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    const download = await saved
    assert.equal(download.suggestedFilename(), 'talk.html')
    const path = await download.path()
    const html = readFileSync(path, 'utf8')
    assert.ok(!html.includes(TOKEN) && html.includes('xylophone'))
    const context = await page.context().browser()!.newContext({ offline: true })
    const reader = await context.newPage()
    await reader.setContent(html)
    await reader.getByText('the word is xylophone').first().waitFor()
    await context.close()
  })

  test('can be redacted with one click, and so can a text or a pattern', async () => {
    const page = await web.page('#/sessions/talk')
    await page.getByText('the word is xylophone').first().waitFor()
    await page.getByRole('button', { name: 'Secrets', exact: true }).click()
    await page.getByText('ghp_…').waitFor()
    await page.getByRole('button', { name: 'Redact it permanently' }).click()
    await page.getByText('No text looks like a key or token.').waitFor()
    await page.getByLabel('Redact another text').fill('xylophone')
    await page.getByRole('button', { name: 'Look for it' }).click()
    await page.getByRole('button', { name: 'Redact 1 place permanently' }).click()
    await page.getByText('the word is *********').first().waitFor()
    await page.getByLabel('Redact another text').fill('AB-[0-9]+')
    await page.getByRole('button', { name: 'Look for it' }).click()
    await page.getByText('This session does not contain it.').waitFor()
    await page.getByLabel('It is a regular expression').check()
    await page.getByRole('button', { name: 'Look for it' }).click()
    await page.getByRole('button', { name: 'Redact 1 place permanently' }).click()
    await page.getByText('the code is ******').first().waitFor()
    const session = await web.pal.session('talk')
    const events = JSON.stringify(await session.events())
    assert.ok(!events.includes(TOKEN) && !events.includes('xylophone'))
    assert.deepEqual(web.problems, [])
  })
})
