/** A session as one file for others: texts are data, secrets are masked, names are hidden, nothing is loaded. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { escapeXml } from '../../src/replay/plot.ts'
import { sharePage } from '../../src/replay/share-page.ts'
import { openPalimpsest, type Palimpsest } from '../../src/session/engine.ts'
import { openSample } from '../../src/session/sample.ts'
import { Timelines } from '../../src/session/timelines.ts'
import { runCli } from '../cli.ts'
import { startServer } from '../doors/server/harness.ts'
import { session as anySession } from '../laws/sessions.ts'
import * as fc from '../property.ts'

const TOKEN = `ghp_${'aB3dE5gH7jK9'.repeat(3)}`
const EVIL = `<script>alert(1)</script><img src=x onerror="alert(2)">'"&`

async function shared(pal: Palimpsest, name: string, hidesNames = false) {
  const session = await pal.session(name)
  const info = (await pal.find(name))!
  const summary = await new Timelines(pal, { most: 1 }).summary(session, info)
  return sharePage(session, { info, summary, hidesNames })
}

/** Only our own tags, and no URL that a browser would load. */
function checkPage(html: string): void {
  const tags = new Set([...html.matchAll(/<\/?([a-z0-9]+)/gi)].map(([, tag]) => tag!.toLowerCase()))
  const ours =
    'html head meta title style body main header section h1 h2 h3 p ol ul li dl dt dd div span b code pre details summary img'
  for (const tag of tags) assert.ok(ours.split(' ').includes(tag), tag)
  for (const [, value] of html.matchAll(/\s(?:src|href|action|srcset)="([^"]*)"/g))
    assert.match(value!, /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/)
  assert.ok(!/\son\w+="/.test(html.replace(/<pre>[^<]*<\/pre>/g, '')))
}

test('any text is data on the page, and all of it is there', async () => {
  await fc.assert(
    fc.asyncProperty(anySession, async messages => {
      await using pal = await openPalimpsest({ home: ':memory:', config: false })
      const session = await pal.session('talk', { planner: 'stale-output' })
      await session.append(...messages)
      const { html } = await shared(pal, 'talk')
      checkPage(html)
      for (const { parts } of messages)
        for (const part of parts) if (part.type === 'text') assert.ok(html.includes(escapeXml(part.text)), part.text)
    }),
    { numRuns: 30 },
  )
})

test('markup, secrets and names everywhere are escaped, masked and hidden', async () => {
  await using pal = await openPalimpsest({ home: ':memory:', config: false })
  const about = { project: '/home/ada/harbour', client: EVIL, title: `about the harbour ${EVIL}` }
  const session = await pal.session(`fix-${EVIL}`, { about })
  const text = `${EVIL} ${TOKEN} in /home/ada/harbour/a.ts of C:\\Users\\bob\\x, adamant`
  await session.append(
    { role: 'system', parts: [{ type: 'text', text }] },
    {
      role: 'user',
      parts: [
        { type: 'text', text },
        { type: 'image', mediaType: EVIL, data: 'aaaa' },
      ],
    },
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text },
        { type: 'tool-call', id: 'c1', name: EVIL, input: { [text]: [text] } },
      ],
    },
    { role: 'tool', parts: [{ type: 'tool-result', id: 'c1', name: EVIL, output: text, isError: true }] },
    { role: 'assistant', parts: [{ type: 'text', text }] },
  )
  await session.apply([{ target: { type: 'entry', entry: 4 }, replacement: `short ${text}`, why: text }])
  const open = await shared(pal, session.id)
  checkPage(open.html)
  assert.ok(!open.html.includes(TOKEN))
  assert.ok(open.secrets >= 7 && open.html.includes(`${open.secrets} places that looked like a secret were redacted`))
  assert.ok(open.html.includes('/home/ada/harbour') && open.html.includes('<summary>Original</summary>'))
  const { html } = await shared(pal, session.id, true)
  checkPage(html)
  for (const name of [/harbour/, /\bada\b/, /\bbob\b/, /fix-/]) assert.doesNotMatch(html, name)
  assert.match(html, /adamant/, 'a name inside a longer word stays')
})

test('the command writes the file, and the server gives the same file to download', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-share-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const home = join(folder, '.agent')
  {
    await using pal = await openPalimpsest({ home })
    await openSample(pal)
  }
  const out = join(folder, 'sample.html')
  const done = await runCli(['share', 'sample', '--out', out, '--home', home])
  assert.equal(done.stdout, `${out}\n`)
  assert.equal(done.code, 0, done.stderr)
  const html = readFileSync(out, 'utf8')
  checkPage(html)
  assert.match(html, /edited/)
  assert.equal((await runCli(['share', 'none', '--home', home])).code, 3)
  const { server, call } = await startServer({ pal: await openPalimpsest({ home }) })
  t.after(() => server.close())
  const answer = await call('GET', '/sessions/sample/share')
  assert.equal(answer.text, html)
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="sample.html"')
  assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.equal((await call('GET', '/sessions/none/share')).status, 404)
})
