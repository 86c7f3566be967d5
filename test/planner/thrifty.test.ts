import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { codingSession } from '../../bench/session.ts'
import { textOf } from '../../src/model/leaves.ts'
import type { Message, Part } from '../../src/model/types.ts'
import { LOG_HEADER, logLines, logMessages, mergeLogs } from '../../src/planner/log.ts'
import { thrifty } from '../../src/planner/thrifty.ts'
import type { ThriftyOptions } from '../../src/planner/tuning.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import type { View } from '../../src/session/session-view.ts'
import { checkView } from '../../src/view/legality.ts'
import { createUnits, extendUnits } from '../../src/view/units.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const MINUTE = 60_000
const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })

/** A session under `thrifty`, with a clock that the test moves. */
async function open(options: Partial<ThriftyOptions> = {}, home = ':memory:') {
  const time = { now: 1_000_000 }
  const pal = await openPalimpsest({ home, clock: () => time.now })
  const session = await pal.session('t', { policy: thrifty(options), model: 'claude-sonnet-4-5', overhead: 18_000 })
  let calls = 0
  /** One tool call of the model, and its result. */
  const step = async (name: string, input: unknown, output: string | Part[]): Promise<View> => {
    const view = await session.view()
    const id = `c${++calls}`
    await session.append({ role: 'assistant', parts: [{ type: 'tool-call', id, name, input }] })
    time.now += 10_000
    await session.append({ role: 'tool', parts: [{ type: 'tool-result', id, name, output }] })
    return view
  }
  return { pal, session, time, step }
}

const code = (file: string, lines = 60) =>
  Array.from({ length: lines }, (_, i) => `export const ${file}_${i} = compute(${i}, '${file}')`).join('\n')
const log = (lines: number) => Array.from({ length: lines }, (_, i) => `ok ${i} - test number ${i} passed`).join('\n')

describe('before a part is first sent', () => {
  test('a repeated read becomes a pointer, and the copy that it points to is not cleared', async () => {
    const { session, step } = await open()
    await session.append(user('go'))
    await step('read_file', { path: 'a.ts' }, code('a'))
    await step('read_file', { path: 'a.ts' }, `${code('a')}\nconst more = 1`)
    const { messages } = await session.view()
    const second = textOf(messages.at(-1)!.parts[0]!)
    assert.match(second, /\[\d+ lines unchanged: shown above in read_file a\.ts\]/)
    assert.match(second, /const more = 1/)
    assert.equal(textOf(messages.at(-3)!.parts[0]!), code('a'))
  })

  test('a read of text that a patch wrote becomes a pointer', async () => {
    const { session, step } = await open()
    await session.append(user('go'))
    const added = code('a')
      .split('\n')
      .map(line => `+${line}`)
    await step('apply_patch', ['*** Begin Patch', '*** Add File: a.ts', ...added, '*** End Patch'].join('\n'), 'Done')
    await step('read_file', { path: 'a.ts' }, code('a'))
    const text = textOf((await session.view()).messages.at(-1)!.parts[0]!)
    assert.match(text, /\[\d+ lines unchanged: shown above in apply_patch/)
  })

  test('a result that is not a single text is sent unchanged', async () => {
    const { session, step } = await open()
    await session.append(user('go'))
    const output: Part[] = [{ type: 'text', text: code('a') }]
    for (let i = 0; i < 2; i++) await step('read_file', { path: 'a.ts' }, output)
    const { messages } = await session.view()
    assert.equal(textOf(messages.at(-1)!.parts[0]!), code('a'))
  })

  test('a huge output of a run is cut to head, tail and lines about errors', async () => {
    const { session, step } = await open()
    await session.append(user('go'))
    await step('bash', { command: 'npm test' }, `${log(900)}\nError: the one that matters\n${log(900)}`)
    const text = textOf((await session.view()).messages.at(-1)!.parts[0]!)
    assert.ok(text.length < 20_000)
    assert.match(text, /^ok 0 /)
    assert.match(text, /Error: the one that matters/)
    assert.match(text, /ok 899 - test number 899 passed$/)
  })
})

describe('after a part was sent', () => {
  test('parts that are unlikely to be needed are shortened when the cache is cold, and the reason is recorded', async () => {
    const { session, step, time } = await open()
    await session.append(user('go'))
    for (let i = 0; i < 12; i++) await step('bash', { command: `make ${i}` }, log(60))
    assert.equal((await session.view()).edits.filter(edit => edit.mark === 'stub').length, 0)
    time.now += 6 * MINUTE
    const view = await session.view()
    assert.match(view.decision!, /the cache is cold, so it costs nothing/)
    assert.ok(view.edits.length > 0)
    assert.ok(view.edits.every(edit => edit.by === 'policy:thrifty' && edit.saved > 0))
  })

  test('while the cache is warm a small batch waits, and the reason is recorded once', async () => {
    const { session, step } = await open()
    await session.append(user('go'))
    let view = await session.view()
    for (let i = 0; i < 40 && !view.decision; i++) {
      await step('bash', { command: `make ${i}` }, log(30))
      view = await step('read_file', { path: `${i}.ts` }, code(`f${i}`))
    }
    assert.match(view.decision!, /^waiting: .* tokens would pay off after \d+ calls/)
    assert.ok(view.pending.length > 0)
    await session.view()
    const decisions = (await session.events()).filter(({ event }) => event.type === 'decision')
    await session.view()
    assert.equal((await session.events()).filter(({ event }) => event.type === 'decision').length, decisions.length)
  })

  test('parts that a user restored or pinned are not shortened again', async () => {
    const { session, step, time } = await open()
    await session.append(user('go'))
    for (let i = 0; i < 12; i++) await step('bash', { command: `make ${i}` }, log(60))
    await session.pin(4)
    time.now += 6 * MINUTE
    const [first] = (await session.view()).edits
    await session.undo(first!.id)
    for (let i = 0; i < 6; i++) {
      await step('bash', { command: `again ${i}` }, log(60))
      time.now += 6 * MINUTE
    }
    const { edits } = await session.view()
    assert.ok(edits.length > 0)
    assert.ok(edits.every(edit => JSON.stringify(edit.target) !== JSON.stringify(first!.target)))
    assert.ok(edits.every(edit => edit.target.type !== 'part' || edit.target.entry !== 4))
  })
})

test('an endless session stays under 83% of its window, is always legal, and every warm break of the cache is explained', async () => {
  const { session, time } = await open()
  let previous: readonly Message[] = []
  let calls = 0
  for (const turn of codingSession({ turns: 1600 })) {
    const assistant = turn.findIndex(message => message.role === 'assistant')
    await session.append(...turn.slice(0, assistant))
    time.now = turn[assistant]!.at!
    const before = session.edits().length
    const view = await session.view()
    assert.ok(view.tokens * 1.11 + 18_000 <= 0.83 * 200_000, `${view.tokens} tokens at call ${calls}`)
    assert.deepEqual(view.report, [])
    if (calls % 200 === 0) assert.deepEqual(checkView(view.messages, { dialect: 'anthropic' }), [])
    const sent = view.messages
    const broken = previous.some((message, i) => sent[i] !== message && !isDeepStrictEqual(sent[i], message))
    if (broken) assert.ok(view.decision && session.edits().length > before, `unexplained at call ${calls}`)
    previous = sent
    calls++
    await session.append(...turn.slice(assistant))
  }
  assertUserWordsKept(session, await session.view())
})

/** The first request and the latest are in view word for word. */
function assertUserWordsKept(session: Session, view: View): void {
  const requests = session.fold.entries.flatMap(({ message }) =>
    message?.role === 'user' ? message.parts.map(textOf) : [],
  )
  const shown = view.messages.map(message => message.parts.map(textOf).join('\n')).join('\n')
  for (const request of [requests[0]!, ...requests.slice(-10)]) assert.ok(shown.includes(request))
}

test('a session continues after a restart', async () => {
  const home = join(folder, 'restart')
  const turns = [...codingSession({ turns: 160 })]
  const first = await open({}, home)
  for (const turn of turns.slice(0, 120)) {
    const assistant = turn.findIndex(message => message.role === 'assistant')
    await first.session.append(...turn.slice(0, assistant))
    first.time.now = turn[assistant]!.at!
    await first.session.view()
    await first.session.append(...turn.slice(assistant))
  }
  const before = JSON.stringify((await first.session.view({ plan: false })).messages)
  await first.pal.close()
  const second = await open({}, home)
  assert.equal(JSON.stringify((await second.session.view({ plan: false })).messages), before)
  for (const turn of turns.slice(120)) {
    const assistant = turn.findIndex(message => message.role === 'assistant')
    await second.session.append(...turn.slice(0, assistant))
    second.time.now = turn[assistant]!.at!
    assert.deepEqual((await second.session.view()).report, [])
    await second.session.append(...turn.slice(assistant))
  }
  assert.deepEqual((await second.session.verify()).violations, [])
  await second.pal.close()
})

/** The whole session, folded. */
function foldAll(session: Session, recallWith?: string | false): Message[] {
  const units = createUnits()
  extendUnits(units, session.fold)
  return logMessages(units.all, new Map(), recallWith)
}

describe('folding', () => {
  const size = ({ parts }: Message) => parts.map(textOf).join('\n').length
  const ROOMY = { whole: 0, most: Number.POSITIVE_INFINITY, size }
  const NARROW = { whole: 0, most: 3000, size }

  test("keeps users' texts word for word and makes each step one line", async () => {
    const { session, step } = await open()
    await session.append(user('fix the bug'))
    await step('edit_file', { path: 'a.ts', old_string: 'x', new_string: 'y', intent: 'rename' }, 'Edited a.ts')
    await session.append(user('and now the other'))
    const folded = foldAll(session)
    assert.deepEqual(
      folded.map(message => message.parts.map(textOf).join()),
      ['fix the bug', `${LOG_HEADER}\n- edit_file a.ts (rename)`, 'and now the other'],
    )
    const headerWith = (tool: string | false) => textOf(foldAll(session, tool)[1]!.parts[0]!).split('\n')[0]
    assert.match(headerWith('my_recall')!, /not a request\. my_recall finds the originals\]$/)
    assert.match(headerWith(false)!, /not a request\.\]$/, 'without a tool that finds them')
  })

  test('keeps the command and the path in a line word for word, and names frequent folders once', async () => {
    const { session, step } = await open()
    const command = 'cd /home/someone/projects/thing && npm test -- \\\n  --grep "a case"'
    await session.append(user('fix the bug'))
    await step('bash', { command, workdir: '/home/someone/projects/thing' }, 'ok')
    await step('read_file', { path: '/home/someone/projects/thing/src//a.ts' }, 'text')
    await step('read_file', { path: 'D:\\work\\b.ts' }, 'text')
    await step('read_file', { path: '/home/someone/projects/thing/src/c.ts' }, 'text')
    await step('read_file', { path: '/home/someone/projects/thing/src/d.ts' }, 'text')
    await step('read_file', { path: '/home/someone/projects/thing/src/e.ts' }, 'text')
    const [, log] = foldAll(session).map(message => message.parts.map(textOf).join())
    assert.ok(log!.startsWith(`${LOG_HEADER}\nFolders: /home/someone/projects/thing/src/\n`), log)
    assert.ok(log!.includes(command) && log!.includes('src//a.ts') && log!.includes('D:\\work\\b.ts'), log)
    const merged = mergeLogs([user('first'), user(log!), user('second'), user(log!)], ROOMY)
    const heads = merged.flatMap(message => message.parts.map(textOf)).filter(text => text.includes('Folders: '))
    const stepsIn = (list: Message[]) =>
      list.flatMap(({ parts }) => parts.map(textOf).join().match(/^- /gm) ?? []).length
    assert.equal(heads.length, 1)
    assert.equal(stepsIn(merged), 2 * stepsIn([user(log!)]))
    assert.deepEqual(mergeLogs(merged, ROOMY), merged)
  })

  test("keeps users' texts whole while there is room, and then shortens the oldest ones except the first", () => {
    const said = Array.from({ length: 40 }, (_, i) => user(`request ${i}: ${'word '.repeat(300)}`))
    const textsOf = (list: readonly Message[]) => list.map(message => message.parts.map(textOf).join())
    const whole = textsOf(said)
    assert.deepEqual(textsOf(mergeLogs(said, ROOMY)), whole)
    const some = textsOf(mergeLogs(said, { whole: 10, most: 40_000, size }))
    assert.ok(some.join('').length <= 40_000)
    assert.deepEqual([some[0], ...some.slice(-10)], [whole[0], ...whole.slice(-10)])
    assert.ok(some.every((text, i) => text.startsWith(`request ${i}: `)))
    const few = textsOf(mergeLogs(said, { whole: 0, most: 8000, size }))
    assert.ok(few.join('').length <= 8000)
    assert.ok(few[1]!.length < 120 && few[0] === whole[0])
    const newest = textsOf(mergeLogs(said, { whole: 10, most: 0, size }))
    assert.deepEqual(newest.slice(-10), whole.slice(-10))
    assert.ok(newest.slice(1, -10).every(text => text.length < 120))
  })

  test('removes pasted text and old images before typed text, but not from the latest requests', () => {
    const image: Message = { role: 'user', parts: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }] }
    const sized = (message: Message) => size(message) + (message.parts[0]!.type === 'image' ? 5000 : 0)
    const typed = (i: number) => user(`request ${i}: ${'word '.repeat(100)}`)
    const paste = (name: string) => user(`${name}\n${`${name} line of a log\n`.repeat(3000)}the end of ${name}`)
    const said = [paste('first'), typed(0), paste('old'), image, typed(1), typed(2), typed(3), paste('latest')]
    const textsOf = (list: readonly Message[]) => list.map(message => message.parts.map(textOf).join())
    const whole = textsOf(said)
    const room = { whole: 200, most: 4000, size: sized }
    const shorter = textsOf(mergeLogs(said, room))
    assert.match(shorter[2]!, /^old\n.*chars cut.*the end of old$/s)
    assert.ok(shorter[2]!.length < 3000)
    assert.match(shorter[3]!, /^\[Image left out: image\/png, /)
    assert.deepEqual(
      shorter.map((text, i) => (i === 2 || i === 3 ? '' : text)),
      whole.map((text, i) => (i === 2 || i === 3 ? '' : text)),
    )
    assert.deepEqual(textsOf(mergeLogs(said, { ...room, most: Number.POSITIVE_INFINITY })), whole)
    const full = textsOf(mergeLogs(said, { ...room, whole: 0, most: 0 }))
    assert.equal(full[0], whole[0])
    assert.match(full.at(-1)!, /^latest\n.*chars cut.*the end of latest$/s)
    assert.ok(full.slice(1, -1).every(text => text.length < 120))
  })

  test('names the files of removed log lines, once, unless a remaining line names them', () => {
    const line = (i: number) => `- read_file packages/core/src/part-${i}.ts`
    const logOf = (from: number, to: number) =>
      user([LOG_HEADER, ...Array.from({ length: to - from }, (_, i) => line(from + i))].join('\n'))
    const merged = mergeLogs([logOf(0, 100), logOf(100, 200)], ROOMY)
    const text = merged.map(message => message.parts.map(textOf).join()).join('\n')
    const files = /^Files: (.*)$/m.exec(text)![1]!.split(' ')
    assert.deepEqual(
      files,
      Array.from({ length: 50 }, (_, i) => `packages/core/src/part-${i}.ts`),
    )
    assert.deepEqual(mergeLogs(merged, ROOMY), merged)
    const more = mergeLogs([...merged, logOf(0, 1), logOf(200, 400)], ROOMY)
    const later = more.map(message => message.parts.map(textOf).join()).join('\n')
    const named = /^Files: (.*)$/m.exec(later)![1]!.split(' ')
    assert.equal(named.length, 80)
    assert.equal(named.at(-1), 'packages/core/src/part-249.ts')
    assert.equal(new Set(named).size, 80)
  })

  test('keeps the prompt of a call to another agent word for word', async () => {
    const { session, step } = await open()
    const prompt = 'Look for every caller of `open`.\nAnswer with a list of files.'
    await session.append(user('fix the bug'))
    await step('Task', { description: 'Find callers', prompt, subagent_type: 'Explore' }, 'none')
    const text = textOf(foldAll(session).at(-1)!.parts[0]!)
    assert.ok(text.endsWith(`\n- Task ${prompt} (Find callers)`), text)
  })

  test('keeps a prompt on one line, even if it has a list or looks like the head of a log', async () => {
    const { session, step } = await open()
    const prompt = 'Look for:\n- callers of `open`\n> quoted\nFiles: none yet\n(3 older steps)\nand no more'
    await session.append(user('fix the bug'))
    await step('Task', { prompt }, 'none')
    const folded = foldAll(session)
    assert.equal(logLines(folded), 1)
    assert.equal(textOf(folded.at(-1)!.parts[0]!).replaceAll('\n ', '\n'), `${LOG_HEADER}\n- Task ${prompt}`)
    assert.deepEqual(mergeLogs(folded, ROOMY), folded)
  })

  test('turns reports of a client into lines, except before the first answer', async () => {
    const { session, step } = await open()
    const report = `<system-reminder>a.ts was changed: ${'line '.repeat(400)}</system-reminder>`
    await session.append(user(report), user('fix the bug'))
    await step('edit_file', { path: 'a.ts', old_string: 'x', new_string: 'y' }, 'Edited a.ts')
    await session.append(user(report), user('<system-reminder>not closed, so somebody’s own words'))
    const [first, , log, last] = foldAll(session).map(message => message.parts.map(textOf).join())
    assert.equal(first, report)
    assert.match(log!, /\n- edit_file a\.ts\n- note: a\.ts was changed: line [^\n]{50,90}…$/)
    assert.equal(last, '<system-reminder>not closed, so somebody’s own words')
  })

  test('removes from a long log first the lines superseded by a later one, then the oldest', () => {
    const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `- bash make ${from + i}`)
    const log = [
      LOG_HEADER,
      '- read a.ts',
      '- read old.ts',
      ...lines(0, 120),
      '- edit a.ts → failed',
      ...lines(50, 130),
    ]
    const text = mergeLogs([user(log.join('\n'))], ROOMY).map(message => message.parts.map(textOf).join())[0]!
    assert.match(text, /\(53 older steps\)\n- read old\.ts\n/)
    assert.match(text, /- edit a\.ts → failed/)
    for (let i = 0; i < 130; i++) assert.match(text, new RegExp(`- bash make ${i}\n|- bash make ${i}$`))
  })

  test('marks comments of the agent and removes them first from a long log; its answers stay', async () => {
    const { session, step } = await open()
    const said = (text: string): Message => ({ role: 'assistant', parts: [{ type: 'text', text }] })
    await session.append(user('fix the bug'), said('Let me run the tests first.'))
    await step('bash', { command: 'make test' }, 'ok')
    await session.append(said('All of it is green.'), user('and the other one?'))
    const [, log] = foldAll(session)
    const text = textOf(log!.parts[0]!)
    assert.match(text, /\n> Let me run the tests first\.\n- bash make test\n- All of it is green\.$/)
    const more = Array.from({ length: 148 }, (_, i) => `- bash make ${i}`)
    const merged = mergeLogs([log!, user([LOG_HEADER, ...more].join('\n'))], ROOMY).map(each => textOf(each.parts[0]!))
    assert.doesNotMatch(merged.join('\n'), /Let me run/)
    assert.match(merged.join('\n'), /\(1 older steps\)\n- bash make test\n- All of it is green\./)
  })

  test('names every file of a patch in its line, as it was written', async () => {
    const { session, step } = await open()
    const patch = '*** Begin Patch\n*** Update File: src/a.ts\n@@\n-a\n+b\n*** Add File: src/b.ts\n+c\n*** End Patch'
    await session.append(user('fix the bug'))
    await step('apply_patch', { input: patch }, 'Done')
    const text = textOf(foldAll(session).at(-1)!.parts[0]!)
    assert.match(
      text,
      /\n- apply_patch \*\*\* Begin Patch\n\*\*\* Update File: src\/a\.ts\n\*\*\* Add File: src\/b\.ts$/,
    )
  })

  test('keeps a copy that a pointer after the fold names', async () => {
    const { session, step, time } = await open({ quote: 40_000, batch: 2 })
    await session.append(user('look at it'))
    await step('read_file', { path: 'a.ts' }, code('a'))
    for (let i = 0; i < 80; i++) await step('bash', { command: `npm test -- ${i}` }, `${log(60)}\nrun ${i}`)
    await step('read_file', { path: 'a.ts' }, code('a'))
    time.now += 10 * MINUTE
    const { messages } = await session.view()
    assert.match(textOf(messages.at(-1)!.parts[0]!), /shown above in read_file a\.ts/)
    assert.ok(messages.some(({ parts }) => parts.some(part => textOf(part) === code('a'))))
  })

  test('merges folds and keeps the first request whole and the newest lines', () => {
    const logOf = (from: number, to: number) =>
      user([LOG_HEADER, ...Array.from({ length: to - from }, (_, i) => `- step ${from + i}`)].join('\n'))
    const long = 'word '.repeat(400)
    const folds = [user(long), logOf(0, 300), user(long), logOf(300, 600), user('go on')]
    const merged = mergeLogs(folds, NARROW)
    const texts = merged.map(message => message.parts.map(textOf).join())
    assert.equal(texts[0], long)
    assert.ok(texts.some(text => text.includes('chars cut')))
    assert.match(texts.join('\n'), /\(450 older steps\)/)
    assert.match(texts.join('\n'), /- step 599/)
    assert.doesNotMatch(texts.join('\n'), /- step 449\b/)
    assert.deepEqual(mergeLogs(merged, NARROW), merged)
    assert.ok(mergeLogs(folds, ROOMY).every(message => !message.parts.map(textOf).join().includes('chars cut')))
  })
})

test('with bound reasoning in every step, edits wait for the next request, and the lost reasoning is reported', async () => {
  const time = { now: 1_000_000 }
  const pal = await openPalimpsest({ home: ':memory:', clock: () => time.now })
  const session = await pal.session('t', { policy: thrifty(), model: 'claude-opus-5-5' })
  const think = { type: 'reasoning' as const, text: 'let me see' }
  await session.append(user('go'))
  for (let i = 0; i < 12; i++) {
    const call = { type: 'tool-call' as const, id: `c${i}`, name: 'bash', input: { command: `make ${i}` } }
    await session.append({ role: 'assistant', parts: [think, call] })
    await session.append({ role: 'tool', parts: [{ type: 'tool-result', id: `c${i}`, name: 'bash', output: log(60) }] })
    time.now += 6 * MINUTE
    const view = await session.view()
    assert.deepEqual(view.report, [])
    assert.deepEqual(view.edits, [])
  }
  await session.append({ role: 'assistant', parts: [think, { type: 'text', text: 'done' }] }, user('next'))
  time.now += 6 * MINUTE
  const view = await session.view()
  assert.deepEqual(view.report, [])
  assert.ok(view.edits.some(edit => edit.mark === 'stub' || edit.mark === 'look'))
  const first = Math.min(...view.edits.flatMap(({ target }) => (target.type === 'part' ? target.entry : [])))
  const behind = view.messages.slice(first)
  assert.ok(behind.every(message => message.parts.every(part => part.type !== 'reasoning')))
  assert.match(view.decision ?? '', /tokens of reasoning after the first change are lost, all from past turns/)
})

test('with bound reasoning, a long turn is edited if that saves more than the lost reasoning costs', async () => {
  const time = { now: 1_000_000 }
  const pal = await openPalimpsest({ home: ':memory:', clock: () => time.now })
  const batches = async (name: string, calls: number, thought: string) => {
    const session = await pal.session(name, { policy: thrifty(), model: 'claude-opus-5-5' })
    await session.append(user('go'))
    let edited = 0
    for (let i = 0; i < calls; i++) {
      const call = { type: 'tool-call' as const, id: `c${i}`, name: 'bash', input: { command: `make ${i}` } }
      await session.append({ role: 'assistant', parts: [{ type: 'reasoning', text: thought }, call] })
      await session.append({
        role: 'tool',
        parts: [{ type: 'tool-result', id: `c${i}`, name: 'bash', output: log(200) }],
      })
      time.now += 1000
      const before = session.edits().length
      const view = await session.view()
      assert.deepEqual(view.report, [])
      if (session.edits().length === before) continue
      edited++
      assert.match(view.decision ?? '', /of them from this turn/)
      assert.ok(i >= 20, `a turn of ${i} calls is not a long one`)
    }
    return edited
  }
  const edited = await batches('short thoughts', 60, 'let me see')
  assert.ok(edited > 0 && edited < 10, `${edited} batches`)
  assert.equal(await batches('long thoughts', 60, 'let me see what that means for the next part '.repeat(300)), 0)
})

test('a part that is pinned before it is first sent is not changed, and no reason is recorded', async () => {
  for (const pinned of [false, true]) {
    const { session, step } = await open()
    await session.append(user('run it'))
    await step('bash', { command: 'npm test' }, 'one line of many\n'.repeat(5000))
    if (pinned) await session.pin(2)
    const { report } = await session.view()
    assert.deepEqual(report, [])
    assert.equal(session.edits().length, pinned ? 0 : 1)
  }
})
