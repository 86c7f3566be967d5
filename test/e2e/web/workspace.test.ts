/** The knowledge files in a real browser: read and written, and a concurrent change is never overwritten. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { checkEveryLook } from './axe.ts'
import { openWeb, skip, type Web } from './harness.ts'

describe('the workspace', { skip }, () => {
  let web: Web
  let folder: string
  before(async () => {
    web = await openWeb()
    const listed = await fetch(`${web.url}/workspace`)
    folder = JSON.parse(await listed.text()).folder
  })
  after(() => web?.close())
  const onDisk = (path: string) => readFileSync(join(folder, path), 'utf8')

  test('creates its files on request, and a file can be edited', async () => {
    const page = await web.page('#/workspace')
    await page.getByRole('button', { name: 'Create them' }).click()
    await page.getByRole('button', { name: /^MEMORY\.md/ }).click()
    await page.getByRole('article', { name: 'MEMORY.md' }).getByRole('button', { name: 'Edit' }).click()
    const field = page.getByLabel('Text of MEMORY.md')
    await field.fill(`${await field.inputValue()}- We deploy on Tuesdays\n`)
    await page.locator('ins').getByText('We deploy on Tuesdays').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('listitem').getByText('We deploy on Tuesdays').waitFor()
    assert.match(onDisk('MEMORY.md'), /- We deploy on Tuesdays\n$/)
  })

  test('shows a concurrent change while the user writes, and keeps both', async () => {
    const page = await web.page('#/workspace?file=SOUL.md')
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Text of SOUL.md').fill('mine\n')
    writeFileSync(join(folder, 'SOUL.md'), 'theirs\n')
    await page.getByRole('alert').getByText('This file was changed while you were writing').waitFor()
    assert.match(await page.getByRole('alert').innerText(), /theirs/)
    assert.equal(await page.getByRole('button', { name: 'Save' }).isDisabled(), true)
    assert.equal(onDisk('SOUL.md'), 'theirs\n')
    await page.getByRole('button', { name: 'Continue, and compare', exact: false }).click()
    await page.getByLabel('Text of SOUL.md').fill('theirs\nmine\n')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Edit' }).waitFor()
    assert.equal(onDisk('SOUL.md'), 'theirs\nmine\n')
  })

  test('refuses a late save, and shows the present text', async () => {
    const page = await web.page('#/workspace?file=TOOLS.md')
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Text of TOOLS.md').fill('mine\n')
    // Faster than the page polls, so only the server can know.
    writeFileSync(join(folder, 'TOOLS.md'), 'theirs\n')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText('This file was changed while you were writing').waitFor()
    assert.equal(onDisk('TOOLS.md'), 'theirs\n')
    await page.getByRole('button', { name: 'Use theirs, discard mine' }).click()
    assert.equal(await page.getByLabel('Text of TOOLS.md').inputValue(), 'theirs\n')
  })

  test('can create a file; markup in a file stays text, and no link runs anything', async () => {
    const page = await web.page('#/workspace')
    await page.getByRole('button', { name: 'New file' }).click()
    await page.getByLabel('Name, such as notes/style.md').fill('notes/evil')
    await page.getByRole('button', { name: 'Create it' }).click()
    await page.getByRole('article', { name: 'notes/evil.md' }).waitFor()
    writeFileSync(
      join(folder, 'notes/evil.md'),
      '# Evil\n\n<script>document.title="x"</script> <svg onload=alert(1)> [a](javascript:alert(1)) \u202Eabc\n',
    )
    await page.getByText('<svg onload=alert(1)>', { exact: false }).waitFor()
    assert.equal(await page.locator('article a[href^="javascript"]').count(), 0)
    await page.getByText('⟨U+202E⟩').waitFor()
    assert.deepEqual(
      web.problems.filter(problem => !problem.includes('409')),
      [],
    )
  })

  test('has no serious findings of axe, light and dark, on a wide screen and a phone', async () => {
    await checkEveryLook(web, '#/workspace', page => page.getByRole('article').waitFor())
  })
})
