/** Untrusted text in every field that shows content: it stays text, and hidden characters in it are named. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../../src/model/types.ts'
import { openWeb, skip } from './harness.ts'

const SCRIPT = '<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=2</script>'
const SVG = '<svg onload="globalThis.pwned=3"><a href="javascript:globalThis.pwned=4">x</a></svg>'
const MARKDOWN = [
  '[click](javascript:globalThis.pwned=5) [data](data:text/html,<script>globalThis.pwned=6</script>)',
  '[path](/tokens) [fine](https://example.org/) ![picture](https://example.org/track.png)',
  SCRIPT,
  `| a | b |\n|---|---|\n| ${SVG} | \`${SCRIPT}\` |`,
].join('\n\n')
const ANSI = '\x1b[31mred\x1b[0m and a \x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07'
const BIDI = 'user\u202Enimda\u202C and zero\u200Bwidth'

const MESSAGES: Message[] = [
  { role: 'system', parts: [{ type: 'text', text: SCRIPT }] },
  { role: 'user', parts: [{ type: 'text', text: `${SVG} ${BIDI}` }] },
  {
    role: 'assistant',
    parts: [
      { type: 'reasoning', text: SCRIPT },
      { type: 'text', text: MARKDOWN },
      { type: 'tool-call', id: 'c1', name: SCRIPT, input: { [SVG]: SCRIPT, command: `echo '${SCRIPT}'` } },
    ],
  },
  { role: 'tool', parts: [{ type: 'tool-result', id: 'c1', name: SCRIPT, output: `${ANSI}\n${SVG}\n${BIDI}` }] },
  {
    role: 'user',
    parts: [
      { type: 'image', mediaType: 'image/svg+xml', data: btoa(SVG) },
      { type: 'image', mediaType: 'image/png', url: 'https://example.org/track.png' },
    ],
  },
  { role: 'assistant', parts: [{ type: 'raw', provider: SCRIPT, value: { html: SVG } }] },
]
const NAME = '<b onmouseover=alert(1)>name</b>'

test('untrusted text runs nothing, loads nothing and hides nothing', { skip }, async t => {
  const web = await openWeb()
  t.after(() => web.close())
  const session = await web.pal.session(NAME, { about: { client: SCRIPT, title: SVG } })
  await session.append(...MESSAGES)
  await session.apply([{ target: { type: 'part', entry: 3, part: 0 }, replacement: SVG, why: SCRIPT }])
  await session.apply([{ target: { type: 'after', entry: 5 }, replacement: { messages: [MESSAGES[1]!] }, why: SVG }])
  const page = await web.page('#/sessions')
  const requested: string[] = []
  page.on('request', request => requested.push(request.url()))
  await page.getByLabel('Search sessions').fill('onerror')
  await page.getByRole('region', { name: 'In the conversations' }).locator('.hit').first().waitFor()
  await page.goto(`${web.url}/#/sessions/${encodeURIComponent(NAME)}`)
  await page.locator('.session-own-id', { hasText: NAME }).waitFor()
  for (const entry of MESSAGES.keys()) {
    await page.goto(`${web.url}/#/sessions/${encodeURIComponent(NAME)}?entry=${entry}`)
    const element = page.locator(`[data-entry="${entry}"]`)
    await element.locator('.part').first().waitFor()
    for (const face of await element.getByRole('button', { name: /As it was|Diff/ }).all()) await face.click()
  }
  await page.getByRole('tab', { name: /Edits/ }).click()
  await page.locator('[data-edit]').first().waitFor()
  await page.getByTestId('context-map').hover()
  const foreign =
    'img[src="x"], svg[onload], script:not([src]), a[href^="javascript"], a[href^="data"], a[href="/tokens"]'
  assert.equal(await page.locator(foreign).count(), 0)
  assert.equal(await page.evaluate('typeof globalThis.pwned'), 'undefined')
  assert.deepEqual(web.problems, [])
  assert.deepEqual(
    requested.filter(url => !url.startsWith(web.url)),
    [],
    'nothing is asked of another host',
  )
})

test('terminal colours are removed and hidden characters are named', { skip }, async t => {
  const web = await openWeb()
  t.after(() => web.close())
  const session = await web.pal.session('hidden')
  await session.append(...MESSAGES)
  const page = await web.page('#/sessions/hidden?entry=3')
  const output = page.locator('[data-entry="3"] .part-body')
  await output.getByText('red and a link').waitFor()
  assert.match(await output.innerText(), /user⟨U\+202E⟩nimda⟨U\+202C⟩ and zero⟨U\+200B⟩width/)
  const link = page.locator('[data-entry="2"] a')
  assert.deepEqual(await link.evaluateAll(links => links.map(one => one.getAttribute('href'))), [
    'https://example.org/',
  ])
})
