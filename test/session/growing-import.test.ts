/**
 * A file that is imported while its agent works, and again later, gives the same session as one imported at the end,
 * wherever the first import ended, even in the middle of an answer.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readTranscript } from '../../src/formats/transcripts/read-transcript.ts'
import { DecisionLinks, plainNoticeOf } from '../../src/memory/decision-links.ts'
import type { Message } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { type Imported, importSession } from '../../src/session/import-transcript.ts'
import { readTimeline } from '../../src/session/timelines.ts'
import { statisticsOf } from '../../src/view/statistics.ts'
import { summaryOf } from '../../src/view/totals.ts'

const folder = await mkdtemp(join(tmpdir(), 'palimpsest-growing-'))
after(() => rm(folder, { recursive: true, force: true }))

const time = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString()

/** Claude Code: each block of an answer is a line, the number of its tokens grows, and results come between. */
function claudeCode(): object[] {
  const line = (type: string, n: number, message: object) => {
    const place = { uuid: `u${n}`, parentUuid: n > 1 ? `u${n - 1}` : null, isSidechain: false, sessionId: 's1' }
    return { type, ...place, cwd: '/r', timestamp: time(n), message }
  }
  const answer = (n: number, id: string, output: number, block: object) => {
    const usage = { input_tokens: 1000 * n, cache_read_input_tokens: 5, output_tokens: output }
    return line('assistant', n, { id, role: 'assistant', model: 'claude-sonnet-4-5', content: [block], usage })
  }
  const use = (id: string) => ({ type: 'tool_use', id, name: 'Bash', input: { command: `ls ${id}` } })
  const result = (id: string) => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: id }] })
  return [
    line('user', 1, { role: 'user', content: 'go' }),
    answer(2, 'm1', 1, { type: 'thinking', thinking: 'hm', signature: 'x' }),
    answer(2, 'm1', 1, { type: 'text', text: 'I look.' }),
    answer(2, 'm1', 90, use('t1')),
    answer(2, 'm1', 90, use('t2')),
    line('user', 3, result('t1')),
    line('user', 4, result('t2')),
    answer(5, 'm2', 1, { type: 'text', text: 'One more.' }),
    answer(5, 'm2', 70, use('t3')),
    line('user', 6, result('t3')),
    answer(7, 'm3', 30, { type: 'text', text: 'Done.' }),
    line('user', 8, { role: 'user', content: 'thanks' }),
  ]
}

/** Codex: the cost of an answer is reported after it. */
function codex(): object[] {
  let at = 0
  const line = (type: string, payload: object) => ({ timestamp: time(++at), type, payload })
  const says = (role: string, text: string) =>
    line('response_item', { type: 'message', role, content: [{ type: 'text', text }] })
  const counted = (input: number) => {
    const usage = { input_tokens: input, cached_input_tokens: 0, output_tokens: 50 }
    return line('event_msg', { type: 'token_count', info: { last_token_usage: usage } })
  }
  const call = (id: string) =>
    line('response_item', { type: 'function_call', name: 'ls', arguments: '{}', call_id: id })
  const output = (id: string) => line('response_item', { type: 'function_call_output', call_id: id, output: id })
  return [
    line('session_meta', { id: 'c1', cwd: '/r' }),
    line('turn_context', { model: 'gpt-5.4' }),
    says('user', 'go'),
    says('assistant', 'I look.'),
    call('k1'),
    call('k2'),
    output('k1'),
    output('k2'),
    counted(1000),
    says('assistant', 'Done.'),
    counted(2000),
    says('user', 'thanks'),
    says('assistant', 'Welcome.'),
    counted(3000),
  ]
}

async function accountOf(imports: readonly (readonly object[])[]) {
  const pal = await openPalimpsest({ home: ':memory:' })
  let imported: Imported | undefined
  for (const lines of imports) {
    const file = join(folder, 'file.jsonl')
    await writeFile(file, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
    const read = await readTranscript(file).catch(() => undefined)
    if (read) imported = await importSession(pal, read.sessions[0]!)
  }
  const timeline = await readTimeline(pal, (await pal.find(imported!.session))!)
  const { calls, money } = summaryOf(timeline)
  const { input, output, cacheRead } = statisticsOf(timeline)
  await pal.close()
  return { account: { calls, input, output, cacheRead, dollars: money.with, estimated: money.estimated }, imported }
}

for (const [name, lines] of Object.entries({ 'Claude Code': claudeCode(), Codex: codex() })) {
  test(`${name}: importing in the middle and again at the end gives the same`, async () => {
    const { account: whole } = await accountOf([lines])
    assert.deepEqual([whole.calls, whole.estimated], [3, 0])
    for (let cut = 1; cut < lines.length; cut++) {
      const { account, imported } = await accountOf([lines.slice(0, cut), lines, lines])
      assert.deepEqual(account, whole, `cut after line ${cut}`)
      assert.equal(imported!.added, 0, 'the third import adds nothing')
    }
  })

  test(`${name}: importing after every line gives the same`, async () => {
    const { account: whole } = await accountOf([lines])
    const { account } = await accountOf(lines.map((_, i) => lines.slice(0, i + 1)))
    assert.deepEqual(account, whole)
  })
}

test('a recording without times has the time of its file, so its cost does not count for today', async () => {
  const pal = await openPalimpsest({ home: ':memory:' })
  const lines = codex().map(line => JSON.stringify({ ...line, timestamp: undefined }))
  const file = join(folder, 'undated.jsonl')
  await writeFile(file, lines.join('\n'))
  const [recorded] = (await readTranscript(file)).sessions
  const written = Date.UTC(2025, 4, 6, 12)
  const { session } = await importSession(pal, recorded!, { written })
  const info = (await pal.find(session))!
  assert.deepEqual([info.createdAt, info.updatedAt], [written, written])
  assert.deepEqual(
    summaryOf(await readTimeline(pal, info)).days.map(({ day }) => day),
    ['2025-05-06'],
  )
  await pal.close()
})

test('a link to decide, in an answer that the agent recorded with our line, is of no use in the session', async () => {
  const path = new DecisionLinks(randomBytes(32)).path('ann', ['1'])
  const text = `Done.${plainNoticeOf(1, `http://localhost:8787${path}`)}`
  const pal = await openPalimpsest({ home: ':memory:' })
  const messages: Message[] = [
    { role: 'user', parts: [{ type: 'text', text: 'go' }] },
    { role: 'assistant', parts: [{ type: 'text', text }] },
  ]
  const recorded = { id: 's', messages, usage: [], problems: [] }
  const { session } = await importSession(pal, recorded as never)
  const kept = JSON.stringify(await (await pal.session(session)).messages())
  assert.match(kept, /Done\..*\/decide\/\.\.\./)
  assert.ok(!kept.includes(path))
  await pal.close()
})
