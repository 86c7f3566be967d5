import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textOf } from '../../src/model/leaves.ts'
import type { Message } from '../../src/model/types.ts'
import { type OpenOptions, openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { contextTool } from '../../src/tools/context.ts'
import { agentContext, recallTool, seenSessions } from '../../src/tools/recall.ts'
import { runTool, type ToolResult } from '../../src/tools/tool.ts'
import { openSmall } from '../small-session.ts'

const LOG = `START_DEBUG_LOG\n${'connection 17 opened by the pool\n'.repeat(40)}END_DEBUG_LOG`
const CONFIG = `{"verbose": true, "levels": [${'"debug", '.repeat(60)}"trace"]} end of the config`

/** A user asks, the agent runs one command for each output, and everything is answered. */
async function open(outputs: string[], options: OpenOptions = {}): Promise<Session> {
  const pal = await openPalimpsest({ home: ':memory:' })
  const session = await pal.session('work', options)
  await session.append({ role: 'user', parts: [{ type: 'text', text: 'Find out why the tests fail.' }] })
  for (const [i, output] of outputs.entries())
    await session.append(...step(`call_${i}`, 'bash', { command: `run ${i}` }, output))
  return session
}

function step(id: string, name: string, input: unknown, output: string): Message[] {
  return [
    { role: 'assistant', parts: [{ type: 'tool-call', id, name, input }] },
    { role: 'tool', parts: [{ type: 'tool-result', id, name, output }] },
  ]
}

const context = (session: Session, action: string, targets?: unknown): Promise<ToolResult> =>
  runTool(contextTool, { action, ...(targets ? { targets } : {}) }, { session })

async function shownText(session: Session): Promise<string> {
  const { messages } = await session.view({ plan: false })
  return messages.flatMap(message => message.parts.map(textOf)).join('\n')
}

async function idOf(session: Session, beginning: string): Promise<string> {
  const part = (await session.parts()).find(({ preview }) => preview.startsWith(beginning))
  assert.ok(part, `a part that begins with ${beginning}`)
  return part.hash
}

test('replace puts the text between start and end, and reports the savings and how to undo it', async () => {
  const session = await open([`before\n${LOG}\nafter`])
  const result = await context(session, 'replace', [
    { start: 'START_DEBUG_LOG', end: 'END_DEBUG_LOG', replacement: '…' },
  ])
  assert.match(
    result.text,
    /^Done: \d+ tokens saved\.\n- e1: replace "START_DEBUG_LOG" \(entry 2\), 1,349 chars to 1, \d+ tokens saved/,
  )
  assert.match(result.text, /context\(action="undo", targets=\[\["e1"\]\]\)/)
  assert.match(await shownText(session), /before\n…\nafter/)
})

test('one call may discard, distill and replace, and is applied whole or not at all', async () => {
  const session = await open([LOG, CONFIG, `kept ${LOG.replaceAll('DEBUG', 'INFO')}`])
  const [log, config] = [await idOf(session, 'START_DEBUG'), await idOf(session, '{"verbose"')]
  const replace = { start: 'START_INFO_LOG', end: 'END_INFO_LOG', replacement: '[info]' }
  const before = await shownText(session)
  const failed = await context(session, 'replace', [
    [log],
    [config, 'The levels are debug and trace.'],
    { ...replace, start: 'START_WARN_LOG' },
  ])
  assert.equal(failed.isError, true)
  assert.equal(await shownText(session), before)
  const done = await context(session, 'replace', [[log], [config, 'The levels are debug and trace.'], replace])
  assert.equal(done.isError, undefined, done.text)
  const after = await shownText(session)
  assert.match(after, new RegExp(`\\[Discarded: result of bash, 1349 chars\\. Restore it with id ${log} if needed\\]`))
  assert.match(after, /The levels are debug and trace\./)
  assert.match(after, /kept \[info\]/)
})

test('errors say what to do, and nothing changes', async () => {
  const session = await open([
    LOG,
    `${LOG} and again`,
    'short one',
    'A first stretch of text, B second stretch, C third stretch, D end',
  ])
  const refused = async (targets: unknown, expected: RegExp) => {
    const result = await context(session, 'replace', targets)
    assert.equal(result.isError, true)
    assert.match(result.text, expected)
  }
  await refused(
    [{ start: 'START_DEBUG_LOGS', end: 'END_DEBUG_LOG', replacement: '' }],
    /not found.*Similar: "START_DEBUG_LOG/s,
  )
  await refused(
    [{ start: 'START_DEBUG_LOG', end: 'END_DEBUG_LOG', replacement: '' }],
    /matches 2 times.*entry 2.*entry 4/s,
  )
  await refused([{ start: 'short', end: 'one', replacement: '' }], /minimum 30 characters/)
  const overlapping = [
    { start: 'A first', end: 'C third', replacement: '…' },
    { start: 'B second', end: 'D end', replacement: '…' },
  ]
  await refused(overlapping, /overlapping/)
  await refused([['00000000']], /no text or result with the id 00000000/)
  await refused([], /at least one target/)
  await refused(['1a2b3c4d'], /targets\.0: a target is \[id\], \[id, summary\] or \{ start, end, replacement \}/)
  await refused([{ start: 'x' }], /a target is \[id\]/)
  assert.equal(session.edits().length, 0)
})

test('an operation from suggest can be passed to replace unchanged, even when the suggestion is in view', async () => {
  const trace = `TypeError: x is not a function\n${Array.from({ length: 40 }, (_, i) => `    at handler${i} (/app/src/file${i}.js:${i}:7)`).join('\n')}\nexit 1`
  const session = await open([trace])
  const { text } = await context(session, 'suggest')
  const [operation] = /\{"start".*\}$/m.exec(text) ?? []
  assert.ok(operation, text)
  await session.append(...step('call_s', 'mcp__palimpsest__context', { action: 'suggest' }, text))
  const done = await context(session, 'replace', [JSON.parse(operation)])
  assert.equal(done.isError, undefined, done.text)
  assert.match(await shownText(session), /TypeError: x is not a function\n *\[stack trace: \d+ lines\]\nexit 1/)
})

test('list names the largest parts and the active edits', async () => {
  const session = await open([LOG, CONFIG])
  const log = await idOf(session, 'START_DEBUG')
  assert.match(
    (await context(session, 'list')).text,
    new RegExp(`- ${log}: result of bash \\(entry 2\\), \\d+ tokens: "START_DEBUG.*No edits\\.$`, 's'),
  )
  await context(session, 'distill', [[log, 'The pool opened connection 17.']])
  assert.match(
    (await context(session, 'list')).text,
    /1 edit in force.*\n- e1 by agent \("distill"\), entry 2, part 0, \d+ tokens saved$/,
  )
})

test('undo reverts the last call, or the named edits; redo applies them again', async () => {
  const session = await open([LOG, CONFIG, `${LOG} third`])
  const before = await shownText(session)
  const [log, config] = [await idOf(session, 'START_DEBUG'), await idOf(session, '{"verbose"')]
  await context(session, 'discard', [[log], [config]])
  const both = await shownText(session)
  assert.match((await context(session, 'undo')).text, /^Undone: e1, e2\./)
  assert.equal(await shownText(session), before)
  assert.equal((await context(session, 'redo', [['e2'], ['e1']])).text, 'In force again: e2, e1.')
  assert.equal(await shownText(session), both)
  assert.match((await context(session, 'undo', [['e1'], ['e9']])).text, /no edit e9/)
  assert.equal(await shownText(session), both)
  await context(session, 'undo')
  assert.deepEqual(await context(session, 'undo'), {
    text: 'None of your edits is in force. list shows the edits of others.',
    isError: true,
  })
})

test('restore gives the original in the result and does not change the view', async () => {
  const session = await open([LOG])
  const log = await idOf(session, 'START_DEBUG')
  await context(session, 'discard', [[log]])
  const before = await shownText(session)
  assert.deepEqual(await context(session, 'restore', [[log]]), { text: `[${log}, entry 2]\n${LOG}` })
  assert.deepEqual(await context(session, 'restore', [['e1']]), { text: `[e1, entry 2]\n${LOG}` })
  assert.equal(await shownText(session), before)
  assert.match((await context(session, 'restore')).text, /restore takes ids/)
})

test('a shortened result that had an image says so, and restore says how to see the image again', async () => {
  const session = await open([])
  const image = { type: 'image' as const, mediaType: 'image/png', data: 'AAAA' }
  const [call, result] = step('shot', 'screenshot', {}, '')
  const output = [{ type: 'text' as const, text: 'the login page' }, image]
  await session.append(call!, { ...result!, parts: [{ ...result!.parts[0]!, output } as never] })
  const id = await idOf(session, 'the login')
  await context(session, 'discard', [[id]])
  const stub = '[Image left out: image/png, 4 bytes]'
  assert.ok((await shownText(session)).includes(stub))
  const { text } = await context(session, 'restore', [[id]])
  assert.ok(text.includes(stub), text)
  const [, undo = ''] = /context\(action="undo", targets=(.*?)\)\]/.exec(text) ?? []
  await context(session, 'undo', JSON.parse(undo))
  const { messages } = await session.view({ plan: false })
  assert.deepEqual(messages.at(-1)!.parts[0], { type: 'tool-result', id: 'shot', name: 'screenshot', output })
  assert.match((await context(session, 'restore', [[id]])).text, /\[in view, in entry 2\]$/)
})

test('an agent cannot undo, restore or recall text that the user has hidden', async () => {
  const session = await open([`API_KEY=sk-very-secret-value-of-the-user\n${CONFIG}`])
  const id = await idOf(session, 'API_KEY')
  const [edit] = await session.apply([
    { target: { type: 'part', entry: 2, part: 0, leaf: 0, span: [0, 40] }, replacement: '[REDACTED]', why: 'secret' },
  ])
  assert.match((await context(session, 'undo', [[edit!.id]])).text, /was made by the user/)
  assert.match((await context(session, 'restore', [[id]])).text, /The user hid/)
  const { text } = await runTool(recallTool, { query: 'secret' }, { session })
  assert.match(text, /not in view, .*: \[hidden by the user\]/)
  assert.ok(!text.includes('sk-very'))
  const near = await runTool(recallTool, { around: id }, { session })
  assert.match(near.text, /> \w{8}: result of bash \(entry 2\), .*: \[hidden by the user\]/)
  assert.match((await runTool(recallTool, { text: id }, { session })).text, /The user hid/)
})

test('recall marks hits in view, and gives ids for restore', async () => {
  const session = await open([`${LOG} the offset is seven`, 'the offset is nine'])
  const log = await idOf(session, 'START_DEBUG')
  await context(session, 'discard', [[log]])
  await session.append(...step('call_r', 'recall', { query: 'offset' }, 'earlier hits about the offset'))
  const { text } = await runTool(recallTool, { query: 'the offset' }, { session })
  assert.match(
    text,
    new RegExp(
      `^2 hits, 1 of them not in view:\\n- ${log}: result of bash \\(entry 2, [\\d-]+ [\\d:]+\\), not in view, [\\d,]+ tokens: .*seven.*\\n- \\w{8}: result of bash \\(entry 4, .*\\), in view, 4 tokens: "the offset is nine"`,
    ),
  )
  assert.match((await runTool(recallTool, { query: 'nowhere' }, { session })).text, /^Nothing was found/)
})

test('recall continues from a hit to its neighbours and to its text', async () => {
  const session = await open([`${LOG} the offset is seven`, 'x'.repeat(25_000)])
  const id = await idOf(session, 'START_DEBUG')
  const near = await runTool(recallTool, { around: id }, { session })
  assert.match(
    near.text,
    /^- \w{8}: user text \(entry 0\).*\n- .*call of bash \(entry 1\).*\n> .*result of bash \(entry 2\)/,
  )
  assert.match((await runTool(recallTool, { text: id }, { session })).text, /the offset is seven$/)
  const long = await idOf(session, 'xxxx')
  const { text } = await runTool(recallTool, { text: long }, { session })
  assert.match(text, /\[5,000 characters more: recall\(text="\w+", from=20000\)\]$/)
  assert.match((await runTool(recallTool, { text: long, from: 20_000 }, { session })).text, /\nx{5000}$/)
  assert.match((await runTool(recallTool, {}, { session })).text, /Give something to search for/)
  assert.match((await runTool(recallTool, { query: 'x', since: 'soon' }, { session })).text, /is not a time/)
})

test('recall searches other sessions only if the user may see them', async () => {
  const home = await openPalimpsest({ home: ':memory:' })
  const pal = home.of('ann')
  const said = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
  for (const id of ['mine', 'other']) await (await pal.session(id)).append(said(`a needle of ${id}`))
  await (await home.of('bob').session('foreign')).append(said('a needle of foreign'))
  const session = await pal.session('mine')
  const sessions = seenSessions(pal)
  const all = { query: 'needle', sessions: 'all' }
  const { text } = await runTool(recallTool, all, { session, sessions })
  assert.match(text, /session "other", entry 0/)
  assert.doesNotMatch(text, /foreign/)
  assert.match((await runTool(recallTool, all, { session })).text, /Only this session was searched/)
  const id = /- (\w{8})/.exec(text)![1]
  assert.match(
    (await runTool(recallTool, { text: id, session: 'other' }, { session, sessions })).text,
    /needle of other/,
  )
  const foreign = await runTool(recallTool, { text: id, session: 'foreign' }, { session, sessions })
  assert.match(foreign.text, /There is no session foreign/)
})

test('recall searches the sessions of one project', async () => {
  const pal = await openPalimpsest({ home: ':memory:' })
  const said = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
  const folders = { mine: '/home/ann/app', same: '/home/ann/app/web', beside: '/home/ann/app-two', nowhere: undefined }
  for (const [id, project] of Object.entries(folders)) {
    await (await pal.session(id, { about: project ? { project } : {} })).append(said(`a needle of ${id}`))
  }
  const sessions = seenSessions(pal)
  const session = await pal.session('mine')
  const asked = { query: 'needle', sessions: 'project' }
  const { text } = await runTool(recallTool, asked, { session, sessions })
  assert.match(text, /needle of mine/)
  assert.match(text, /needle of same/)
  assert.doesNotMatch(text, /beside|nowhere/)
  const foundIn = async (project: string) =>
    (await pal.recall('needle', { project })).hits.map(hit => hit.session).sort()
  assert.deepEqual(await foundIn('app'), ['mine', 'same'])
  assert.deepEqual(await foundIn('ann/app-two/'), ['beside'])
  assert.deepEqual(await foundIn('/home/ann'), ['beside', 'mine', 'same'])
  const nowhere = await runTool(recallTool, asked, { session: await pal.session('nowhere'), sessions })
  assert.match(nowhere.text, /Only this session was searched: its folder is not known/)
})

test('an agent in its tool loop can edit its context while that call is open', async () => {
  const session = await open([LOG], { ids: 1000 })
  await session.view()
  const id = /\[id (\w{8})\]/.exec(await shownText(session))?.[1]
  await session.append({
    role: 'assistant',
    parts: [{ type: 'tool-call', id: 'c', name: 'context', input: { action: 'discard', targets: [[id]] } }],
  })
  const result = await context(session, 'discard', [[id]])
  await session.append({
    role: 'tool',
    parts: [{ type: 'tool-result', id: 'c', name: 'context', output: result.text }],
  })
  const view = await session.view()
  assert.deepEqual(view.report, [])
  assert.match(await shownText(session), /\[Discarded: result of bash/)
})

test("an edit keeps the agent's reason, and a discarded part is not discarded again", async () => {
  const session = await open([LOG, CONFIG])
  const log = await idOf(session, 'START_DEBUG_LOG')
  const input = { action: 'discard', targets: [[log]], reason: 'The pool works.' }
  assert.match((await runTool(contextTool, input, { session })).text, /^Done: .*saved/)
  assert.equal(session.edits().at(-1)?.edit.why, 'discard: The pool works.')
  const again = await context(session, 'discard', [[log]])
  assert.equal(again.isError, true)
  assert.match(again.text, /is already discarded \(edit e\d+\)/)
  assert.equal((await context(session, 'distill', [[log, 'The pool works.']])).isError, undefined)
})

test("without a reason, the agent's text before the call is the reason", async () => {
  const session = await open([LOG, CONFIG])
  const log = await idOf(session, 'START_DEBUG_LOG')
  const config = await idOf(session, CONFIG.slice(0, 15))
  const discard = (id: string) => ({ action: 'discard', targets: [[id]] })
  await session.append({
    role: 'assistant',
    parts: [
      { type: 'text', text: 'The pool works.\nI am done with its log.' },
      { type: 'tool-call', id: 'c', name: 'mcp__palimpsest__context', input: discard(log) },
    ],
  })
  const { text } = await runTool(contextTool, discard(log), { session })
  assert.equal(session.edits().at(-1)?.edit.why, 'discard: The pool works. I am done with its log.')
  assert.match(text, new RegExp(`- e1: discard ${log} \\(entry`))
  await session.append({ role: 'tool', parts: [{ type: 'tool-result', id: 'c', name: 'context', output: text }] })
  await session.append({ role: 'assistant', parts: [{ type: 'text', text: 'Something else.' }] })
  await runTool(contextTool, discard(config), { session })
  assert.equal(session.edits().at(-1)?.edit.why, 'discard')
})

test('the price of a discard can be requested first, without a change', async () => {
  await using pal = await openPalimpsest({ home: ':memory:' })
  const session = await openSmall(pal)
  await session.view({ plan: false })
  const { length } = await session.events()
  const listed = (await runTool(contextTool, { action: 'list' }, { session })).text
  assert.match(listed, /in view, the next call \$[\d.]+\. The cache is cold, so edits are free now\./)
  const [, id] = /- ([0-9a-f]{8}): result of/.exec(listed)!
  const { text } = await runTool(contextTool, { action: 'price', targets: [[id]] }, { session })
  assert.match(text, /^Discarding 1 part saves [\d,]+ tokens and \$[\d.]+ with every call\.\nIt costs nothing now/)
  assert.match(text, /were quoted \d+\.\d\d times on average in recorded sessions/)
  assert.equal((await session.events()).length, length)
  const unknown = await runTool(contextTool, { action: 'price', targets: [['ffffffff']] }, { session })
  assert.match(unknown.text, /Nothing in view has the id ffffffff/)
})

test('a session can be named; text that its compaction dropped is restored, but nothing that the user has hidden', async () => {
  await using pal = await openPalimpsest({ home: ':memory:' })
  const say = (role: 'user' | 'assistant', text: string): Message => ({ role, parts: [{ type: 'text', text }] })
  const before = await pal.session('claude-1', { planner: 'none' })
  await before.append(say('user', 'Paint the door.'), say('assistant', 'RAL 6005.'), say('user', 'My PIN is 4711.'))
  const parts = await before.parts()
  await before.edit([{ discard: parts.find(({ preview }) => preview.includes('4711'))!.hash }], 'user')
  const after = await pal.session('claude-1.2', { planner: 'none', about: { parent: 'claude-1' } })
  await after.append(say('user', 'This session is being continued.'), say('assistant', 'Go on.'))
  const session = await pal.session('mcp')
  const run = async (input: object) =>
    (await runTool(contextTool, { session: 'claude-1', ...input }, { session, live: agentContext(pal) })).text
  const dropped = await run({ action: 'dropped' })
  assert.match(dropped, /RAL 6005/)
  assert.doesNotMatch(dropped, /4711/)
  const [, id] = /- ([0-9a-f]{8}): text, \d+ tokens?: "RAL/.exec(dropped)!
  assert.match(await run({ action: 'put_back', targets: [[id]] }), /Put back/)
  const shown = JSON.stringify((await after.view({ plan: false })).messages)
  assert.match(shown, /put back by the agent\]\\nRAL 6005/)
  assert.equal(after.edits().at(-1)!.edit.by, 'agent')
  await run({ action: 'undo' })
  assert.doesNotMatch(JSON.stringify((await after.view({ plan: false })).messages), /RAL 6005/)
  const alone = await runTool(contextTool, { action: 'list', session: 'claude-1' }, { session })
  assert.match(alone.text, /Only your own session can be reached here/)
})
