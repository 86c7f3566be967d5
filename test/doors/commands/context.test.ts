/** The context editor and the status line: parts by cost, the price of an edit, doing it and taking it back. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { statusText } from '../../../src/doors/commands/status-line.ts'
import { serve } from '../../../src/doors/server/server.ts'
import { openServerStore } from '../../../src/doors/server/server-store.ts'
import { openMemory } from '../../../src/memory/open.ts'
import type { Message } from '../../../src/model/types.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { momentOf, priceOf } from '../../../src/session/moment.ts'
import { Timelines } from '../../../src/session/timelines.ts'
import { runCli } from '../../cli.ts'
import * as fc from '../../property.ts'
import { openSmall, SMALL } from '../../small-session.ts'

const folder = await mkdtemp(join(tmpdir(), 'palimpsest-context-'))
after(() => rm(folder, { recursive: true, force: true }))
const home = join(folder, 'home')

before(async () => {
  await using pal = await openPalimpsest({ home })
  await openSmall(pal)
})

const cli = async (...args: string[]) => {
  const ran = await runCli([...args, '--json', '--home', home])
  assert.equal(ran.code, 0, ran.stderr)
  return JSON.parse(ran.stdout)
}

test('parts are listed by cost, priced, removed and restored, by the ids that the agent uses', async () => {
  const { parts, tokens, isCold } = await cli('context', SMALL)
  assert.ok(parts.length > 5)
  assert.deepEqual(
    parts.map((part: { tokens: number }) => part.tokens),
    parts.map((part: { tokens: number }) => part.tokens).sort((a: number, b: number) => b - a),
  )
  assert.equal(isCold, true)
  const result = parts.find(
    (part: { kind: string; tokens: number }) => part.kind === 'tool-result' && part.tokens > 100,
  )
  const preview = await cli('context', SMALL, result.id)
  assert.deepEqual([preview.price.tokens, preview.price.onceUsd, preview.edits], [result.tokens, 0, []])
  assert.equal((await cli('context', SMALL)).tokens, tokens)
  const { edits } = await cli('context', SMALL, result.id, '--yes')
  assert.ok((await cli('context', SMALL)).tokens < tokens)
  assert.deepEqual((await cli('context', SMALL, '--undo')).undone, [edits[0].id])
  assert.equal((await cli('context', SMALL)).tokens, tokens)
  const unknown = await runCli(['context', SMALL, 'ffffffff', '--home', home])
  assert.equal(unknown.code, 3, unknown.stderr)
})

test('an edit on a warm cache pays for the text after it; on a cold cache it is free', async () => {
  await using pal = await openPalimpsest({ home })
  const session = await pal.session(SMALL, { mustExist: true })
  const timeline = await new Timelines().of(session, (await pal.find(SMALL))!)
  const last = timeline.cacheAt(0).lastCallAt!
  const ids = momentOf(timeline, last).parts.map(({ id }) => id)
  fc.assert(
    fc.property(fc.subarray(ids, { minLength: 1 }), some => {
      const warm = priceOf(timeline, some, last)
      const cold = priceOf(timeline, some, last + 24 * 3_600_000)
      assert.equal(cold.onceUsd, 0)
      assert.equal(cold.paysAfter, 0)
      assert.ok(warm.onceUsd >= 0 && warm.rewritten <= timeline.theirs(timeline.tokens.shown))
      assert.equal(warm.tokens, cold.tokens)
    }),
    { numRuns: 50 },
  )
  const [first, final] = [momentOf(timeline, last), momentOf(timeline, last + 24 * 3_600_000)]
  assert.ok(final.nextUsd > first.nextUsd)
})

function say(role: 'user' | 'assistant', text: string): Message {
  return { role, parts: [{ type: 'text', text }] }
}

test("parts dropped by the client's compaction are listed, put back and removed again", async () => {
  const own = join(folder, 'compacted')
  {
    await using pal = await openPalimpsest({ home: own })
    const before = await pal.session('claude-1', { policy: 'none' })
    await before.append(say('user', 'Paint the door.'), say('assistant', 'It must be RAL 6005, says the landlord.'))
    const after = await pal.session('claude-1.2', { policy: 'none', about: { parent: 'claude-1' } })
    await after.append(say('user', 'This session is being continued: a door is painted.'), say('assistant', 'Go on.'))
  }
  const run = async (...args: string[]) => {
    const ran = await runCli(['context', 'claude-1', ...args, '--json', '--home', own])
    assert.equal(ran.code, 0, ran.stderr)
    return JSON.parse(ran.stdout)
  }
  const { session, before, parts } = await run('--dropped')
  assert.deepEqual([session, before, parts.length], ['claude-1.2', 'claude-1', 2])
  const landlord = parts.find((part: { preview: string }) => part.preview.includes('RAL 6005'))
  const { edits } = await run('--dropped', landlord.id)
  const shown = async () => (await runCli(['show', 'claude-1.2', '--full', '--home', own])).stdout
  assert.match(await shown(), /a door is painted\.[\s\S]*put back by the user[\s\S]*RAL 6005/)
  assert.deepEqual((await run('--undo')).undone, [edits[0].id])
  assert.doesNotMatch(await shown(), /RAL 6005/)
})

test('the status line shows tokens, savings and the cache; the hook prints only on a cold cache', async t => {
  const pal = await openPalimpsest({ home: join(folder, 'served') })
  const memory = await openMemory({ home: pal.home, env: {} })
  const { url, close } = await serve({ port: 0, pal, memory, store: await openServerStore(pal.home), log: () => {} })
  t.after(async () => {
    await close()
    await pal.close()
  })
  await openSmall(pal)
  const line = await runCli(['statusline', SMALL, '--url', url, '--home', home])
  assert.match(line.stdout, /^palimpsest \d+k of 200k tokens · \$[\d.]+ saved by \d edits? .*cache cold: next call \$/)
  const input = JSON.stringify({ session_id: 'none', model: { id: 'x' } })
  const other = await runCli(['statusline', '--url', url], { input })
  assert.equal(other.stdout, 'palimpsest: no call of this session has been recorded yet\n')
  const hook = await runCli(['statusline', SMALL, '--cold', '--url', url])
  assert.match(JSON.parse(hook.stdout).systemMessage, /cache cold/)
  assert.equal((await runCli(['statusline', '--cold', '--url', url], { input })).stdout, '')
  const down = await runCli(['statusline', SMALL, '--url', 'http://127.0.0.1:1'])
  assert.deepEqual([down.code, down.stdout], [0, 'palimpsest: the service does not answer (palimpsest logs)\n'])
  const none = await runCli(['statusline', SMALL, '--home', home])
  assert.equal(none.stdout, 'palimpsest: no service is installed (palimpsest install claude)\n')
})

test('the status line names free edits only on a cold cache', () => {
  const status = {
    session: 's',
    tokens: 52_300,
    window: 200_000,
    edits: 1,
    saved: 1.2,
    cached: 0.914,
    isCold: false,
    nextUsd: 0.01,
    free: ['a', 'b'],
    parts: [
      { id: 'a', tokens: 4_000 },
      { id: 'b', tokens: 3_000 },
      { id: 'c', tokens: 9_000 },
    ],
  }
  const warm = 'palimpsest 52k of 200k tokens · $1.20 saved by 1 edit · 91 % from cache'
  assert.equal(statusText(status), warm)
  const cold = 'cache cold: next call $0.0100, free now: remove 7k (palimpsest context)'
  assert.equal(statusText({ ...status, isCold: true }), `${warm} · ${cold}`)
})
