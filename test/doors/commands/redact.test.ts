/** `redact` from end to end: the text is gone from every file, the chain holds, and clients can continue. */
import assert from 'node:assert/strict'
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { chainOf } from '../../../src/doors/proxy/conversation.ts'
import { History } from '../../../src/doors/terminal/history.ts'
import { lastLink } from '../../../src/ledger/redaction.ts'
import type { Message } from '../../../src/model/types.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { runCli } from '../../cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-redact-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const HOME = join(folder, 'home')
const TOKEN = `ghp_${'aB3dE5gH7jK9'.repeat(3)}`
const PHRASE = 'xylophone "harvest"\nmoon'
/** As words of the index, and as JSON quotes it. */
const TRACES = [TOKEN, TOKEN.toLowerCase(), 'ab3de5gh7jk9', 'xylophone', 'harvest']

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
const says = (text: string): Message => ({ role: 'assistant', parts: [{ type: 'text', text }] })
const CALL: Message = {
  role: 'assistant',
  parts: [
    { type: 'reasoning', text: `I look for ${TOKEN}.` },
    { type: 'tool-call', id: 'c1', name: 'bash', input: { command: `grep ${TOKEN} .env`, env: { [TOKEN]: PHRASE } } },
  ],
}
const RESULT: Message = {
  role: 'tool',
  parts: [
    { type: 'tool-result', id: 'c1', name: 'bash', output: `${'# a line\n'.repeat(3000)}TOKEN=${TOKEN}\n${PHRASE}` },
  ],
}
const TALK = [user('what is the token?'), CALL, RESULT, says(`It is ${TOKEN}, and ${PHRASE}.`)]

before(async () => {
  await using pal = await openPalimpsest({ home: HOME })
  const session = await pal.session('talk')
  await session.append(...TALK)
  await session.apply([
    {
      target: { type: 'part', entry: 3, part: 0, leaf: 0, span: [6, 6 + TOKEN.length] },
      replacement: 'a token',
      why: `hides ${TOKEN}`,
    },
  ])
  await pal.entitle('talk', `about ${TOKEN}`)
  const fork = await session.fork(2, 'fork')
  await fork.append(says('I do not say it.'))
  await (await pal.session('other')).append(user('nothing secret'))
  mkdirSync(join(HOME, 'archive'))
  const history = new History(HOME)
  for (const typed of [`use ${TOKEN}`, PHRASE, 'unchanged']) history.add(typed)
  appendFileSync(join(HOME, 'chat-history.jsonl'), `{broken ${TOKEN}\n`)
  writeFileSync(join(HOME, 'archive/talk_1.json'), JSON.stringify({ session: 'talk', text: [TOKEN, PHRASE] }))
})

const run = (home: string, ...args: string[]) => runCli([...args, '--home', home])

function copied(name: string): string {
  const home = join(folder, name)
  cpSync(HOME, home, { recursive: true })
  return home
}

function tracesIn(home: string, traces = TRACES): string[] {
  const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter(file => file.isFile())
  return files.flatMap(({ parentPath, name }) => {
    const bytes = readFileSync(join(parentPath, name))
    return traces.filter(trace => bytes.includes(trace)).map(trace => `${name}: ${trace}`)
  })
}

async function redactBoth(home: string): Promise<void> {
  for (const what of [['--secrets'], ['--text', PHRASE]]) {
    const done = await run(home, 'redact', 'talk', ...what, '--yes')
    assert.equal(done.code, 0, done.stderr)
  }
}

describe('redact', () => {
  test('shows what would be redacted, and asks', async () => {
    const home = copied('asked')
    const shown = await run(home, 'redact', '--secrets', '--dry-run')
    assert.match(shown.stdout, /^talk {2}GitHub token \(\d+\)$/m)
    assert.match(shown.stdout, /^chat-history.jsonl {2}GitHub token \(2\)$/m)
    assert.ok(!shown.stdout.includes('other'))
    assert.match((await run(home, 'redact', '--secrets')).stderr, /Use --yes to go ahead/)
    assert.match((await run(home, 'redact')).stderr, /Use --secrets, --text/)
    assert.ok(tracesIn(home).length > 0)
  })

  test('redacts the text in the ledger, the fork, the index and the files, and verify still passes', async () => {
    const home = copied('covered')
    const heads = join(folder, 'heads.json')
    writeFileSync(heads, (await run(home, 'head')).stdout)
    await redactBoth(home)
    assert.deepEqual(tracesIn(home), [])
    assert.equal((await run(home, 'secrets')).code, 0)
    assert.equal((await run(home, 'recall', 'xylophone')).stdout, '')
    assert.match((await run(home, 'recall', 'token')).stdout, /talk/)
    const verified = await run(home, 'verify', '--head', heads)
    assert.equal(verified.code, 0, verified.stdout + verified.stderr)
    for (const name of ['talk', 'fork']) assert.match(verified.stdout, new RegExp(`whole {4}${name} `))
    assert.equal(verified.stdout.match(/redacted from event \d+ on, .* by admin:cli: GitHub token/g)?.length, 2)
    assert.equal(verified.stdout.match(/by admin:cli: text/g)?.length, 2)
  })

  test('covers it in the history of the chat, even when no session has it, and keeps the other lines', async () => {
    const home = copied('history')
    const typed = ['one', 'two "xyz"\nlines', 'three xyz']
    const history = new History(home)
    for (const text of typed) history.add(text)
    const pattern = ['redact', '--pattern', '"xyz"\nl']
    assert.deepEqual(JSON.parse((await run(home, ...pattern, '--dry-run', '--json')).stdout), {
      sessions: [],
      history: { pattern: 1 },
    })
    assert.match((await run(home, ...pattern, '--yes')).stderr, /Redacted 0 sessions and the history of the chat/)
    assert.deepEqual(new History(home).newestFirst.slice(0, 4), ['three xyz', 'two *******ines', 'one', 'unchanged'])
    assert.match((await run(home, ...pattern, '--yes')).stderr, /Nothing was redacted/)
  })

  test('covers what a pattern matches, and refuses one that is none', async () => {
    const home = copied('pattern')
    assert.match((await run(home, 'redact', '--pattern', '(', '--yes')).stderr, /is not a regular expression/)
    assert.match((await run(home, 'redact', '--pattern', 'x*', '--dry-run')).stdout, /^talk {2}pattern \(\d+\)$/m)
    const done = await run(home, 'redact', '--pattern', 'ghp_[a-zA-Z0-9]+', '--yes')
    assert.match(done.stdout, /^fork {2}pattern \(\d+\)$/m)
    assert.deepEqual(tracesIn(home, TRACES.slice(0, 3)), [])
    assert.ok(tracesIn(home, ['xylophone']).length > 0)
    assert.match((await run(home, 'verify')).stdout, /by admin:cli: pattern/)
  })

  test('a ledger rewritten without a redaction does not verify', async () => {
    const home = copied('damaged')
    const heads = join(folder, 'other-heads.json')
    const kept = JSON.parse((await run(home, 'head')).stdout)
    for (const head of kept.sessions) head.hash = head.hash.replaceAll(/[0-9]/g, 'f')
    writeFileSync(heads, JSON.stringify(kept))
    await redactBoth(home)
    const verified = await run(home, 'verify', '--head', heads)
    assert.equal(verified.code, 6, verified.stdout)
  })

  test('keeps the places of edits, and removes changed reasoning', async () => {
    const home = copied('edits')
    await redactBoth(home)
    await using pal = await openPalimpsest({ home })
    const session = await pal.session('talk', { mustExist: true })
    const { messages } = await session.view({ plan: false })
    const last = messages.at(-1)!.parts[0]
    assert.ok(
      last?.type === 'text' && last.text.startsWith('It is a token, and [redacted: text]'),
      JSON.stringify(last),
    )
    assert.ok(!messages.some(({ parts }) => parts.some(({ type }) => type === 'reasoning')))
    assert.deepEqual((await session.verify()).violations, [])
  })

  test('a client continues in the same session with its own copy of the text', async () => {
    const home = copied('client')
    await redactBoth(home)
    await using pal = await openPalimpsest({ home })
    const session = await pal.session('talk', { mustExist: true })
    // After a restart the proxy finds the session by this.
    assert.equal(lastLink(await session.events()), chainOf(TALK).at(-1))
    const went = await session.sync([...TALK, user('thanks')])
    assert.equal(went.session.id, 'talk')
    const again = await went.session.sync([...TALK, user('thanks'), says('bye')])
    assert.equal(again.session.id, 'talk')
    const forked = await again.session.sync([...TALK.slice(0, 3), says('no'), user('why?')])
    assert.notEqual(forked.session.id, 'talk')
    const on = await forked.session.sync([...TALK.slice(0, 3), says('no'), user('why?'), says('so')])
    assert.equal(on.session.id, forked.session.id)
    const sent = [...TALK.slice(0, 3), says('no'), user('why?'), says('so')]
    assert.equal(lastLink(await on.session.events()), chainOf(sent).at(-1))
    await pal.close()
    assert.deepEqual(tracesIn(home), [])
  })

  test('a process with the session open continues with the redacted text', async () => {
    const home = copied('open')
    {
      await using pal = await openPalimpsest({ home })
      const session = await pal.session('talk', { mustExist: true })
      await session.sync([...TALK, user('one')])
      const other = await pal.session('talk', { mustExist: true })
      await other.view({ plan: false })
      await redactBoth(home)
      const went = await session.sync([...TALK, user('one'), says('two'), user('three')])
      assert.equal(went.session.id, 'talk')
      await assert.rejects(other.append(user(`again ${TOKEN}`)), /was redacted in the meantime/)
      await other.append(user('again'))
      assert.ok(!JSON.stringify(await other.view({ plan: false })).includes(TOKEN))
    }
    assert.deepEqual(tracesIn(home), [])
    assert.equal((await run(home, 'verify')).code, 0)
  })
})
