/**
 * Text from outside, a quarter of a megabyte of one sign or of a few: no function that reads it may take more than linear
 * time. Short texts come first, so that quadratic code fails after a second and not after an hour. The limit is processor
 * time, an order of magnitude above linear and below quadratic time for this length: a loaded machine does not change it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitsPattern } from '../src/agent/approval.ts'
import { parsePersona } from '../src/agent/personas.ts'
import { similarTexts } from '../src/asked/similar.ts'
import { stretchesIn } from '../src/asked/stretches.ts'
import { applyPatchTo, headLines, patchPaths } from '../src/calls/patches.ts'
import { isReport, titleIn } from '../src/calls/requests.ts'
import { describeShell } from '../src/calls/shell-kinds.ts'
import { splitShell } from '../src/calls/shell-words.ts'
import { describeCall } from '../src/calls/tool-kinds.ts'
import { exitCode, stripLineNumbers } from '../src/calls/tool-output.ts'
import { sideOf } from '../src/doors/proxy/client.ts'
import { isOverflowText } from '../src/doors/proxy/dialect.ts'
import { renderBlock } from '../src/doors/terminal/markdown.ts'
import { MarkdownStream } from '../src/doors/terminal/markdown-stream.ts'
import { oneLine, printable } from '../src/doors/terminal/output.ts'
import { clip, widthOf } from '../src/doors/terminal/width.ts'
import { readHeadings, replaceSection } from '../src/files/markdown.ts'
import { explainMiss } from '../src/files/nearest.ts'
import { replaceUnique } from '../src/files/replace.ts'
import { toAiSdk } from '../src/formats/adapters/ai-sdk.ts'
import { toAnthropic } from '../src/formats/adapters/anthropic.ts'
import { toGemini } from '../src/formats/adapters/gemini.ts'
import { toLangChain } from '../src/formats/adapters/langchain.ts'
import { toOpenAIChat } from '../src/formats/adapters/openai-chat.ts'
import { toOpenAIResponses } from '../src/formats/adapters/openai-responses.ts'
import { splitJsonValues, valuesInLine } from '../src/formats/transcripts/json-values.ts'
import { diffTexts, hiddenIn, reveal } from '../src/memory/diff.ts'
import { readMessage } from '../src/memory/dolt-names.ts'
import { duplicatesOf } from '../src/memory/facts.ts'
import { readFrontMatter } from '../src/memory/front-matter.ts'
import { mergeTexts } from '../src/memory/proposals.ts'
import type { Block } from '../src/memory/store.ts'
import { parseJson } from '../src/model/json.ts'
import { normalizePath } from '../src/model/paths.ts'
import { placesOf, splitBy } from '../src/model/search.ts'
import { linesIn, onOneLine, trimEndOf } from '../src/model/text.ts'
import { loadCounter } from '../src/model/tokens.ts'
import type { Edit, Message } from '../src/model/types.ts'
import { excerpt } from '../src/planner/excerpt.ts'
import { safeName } from '../src/policies/offload.ts'
import { truncateOutput } from '../src/policies/truncate-shell.ts'
import { modelInfo } from '../src/providers/models.ts'
import { openPalimpsest } from '../src/session/engine.ts'
import { importSession } from '../src/session/import-transcript.ts'
import { momentOf } from '../src/session/moment.ts'
import { checkSummary, readSummary, SUMMARY_MARK } from '../src/summaries/summary.ts'
import { explainView } from '../src/view/explain.ts'
import { applyEvent, createFold } from '../src/view/fold.ts'
import { hiderIn, withoutHiddenTexts } from '../src/view/hidden.ts'
import { checkView, waitingCalls } from '../src/view/legality.ts'
import { legalize } from '../src/view/legalize.ts'
import { shownTexts } from '../src/view/shown-texts.ts'
import { Timeline } from '../src/view/timeline.ts'
import { timeOf } from './processor.ts'
import * as fc from './property.ts'

const SHORT = 40_000
/** A megabyte with FAULTS=all, as in CI. */
const LONG = process.env['FAULTS'] === 'all' ? 1_000_000 : 250_000
const SHORT_MS = 800
const LONG_MS = LONG / 100

const SIGNS = [...' \t\n\r[]{}()<>"\'`-_*#|~+=\\/.:,;!@$%&0a\u00a0é', '😀', '\u202e']
const WORDS = [
  'a ',
  '- ',
  '\n-',
  '> ',
  '```\n',
  '"a":',
  '\\"',
  '{"',
  ' #',
  ' |',
  '\r\n',
  '*a',
  '[a](',
  '<a ',
  '- - ',
  '![',
  '# ',
  'a\n\n',
  '/a',
  '../',
  '://',
  '$(',
  "a'b",
  '<!--',
  '1. ',
  '"\\',
  'a:b\n',
  '#\n',
  '=\n',
  '{\n',
  '{}',
  '<b>',
  'cd a\n',
  '**a',
  '~~~\n',
]
/** These are tried at full length, too. */
const LONG_SIGNS = new Set([...' \t\n[{("-`\\', '#\n', '{\n', 'cd a\n'])
type Shape = readonly [before: string, sign: string, after: string]

const SHAPES: readonly Shape[] = [
  ...[...SIGNS, ...WORDS].map(sign => ['', sign, 'x'] as const),
  ...[...LONG_SIGNS].map(sign => ['a: x', sign, '\u0000'] as const),
]

const text = (content: string): Message => ({ role: 'user', parts: [{ type: 'text', text: content }] })
const count = await loadCounter()

/** Every function that gets text from outside, called as its callers do. */
const READERS: Record<string, (outside: string) => unknown> = {
  onOneLine,
  linesIn,
  trimEndOf: outside => trimEndOf(outside, '/'),
  normalizePath,
  parseJson: outside => parseJson(outside),
  'parseJson of a text': outside => parseJson(JSON.stringify({ '\n': 1, text: outside, [outside]: outside })),
  count,
  readFrontMatter: outside => readFrontMatter(`---\n${outside}\n---\n`),
  'front matter of a value': outside => readFrontMatter(`---\nkey: x${outside}\n---\n`),
  parsePersona: outside => parsePersona(`---\nname: ${outside}\n---\n${outside}`, 'persona.md'),
  readSummary,
  checkSummary: outside => checkSummary(`${SUMMARY_MARK}\n${outside}`, 10, count),
  exitCode,
  stripLineNumbers: outside => stripLineNumbers(`1: ${outside}\n2: ${outside}`),
  isReport,
  titleIn,
  describeShell: outside => describeShell(outside, '/work', {}),
  splitShell: outside => splitShell(outside, {}),
  describeCall: outside => describeCall('bash', { command: outside }),
  patchPaths,
  headLines,
  applyPatchTo: outside =>
    applyPatchTo(`*** Begin Patch\n*** Update File: a\n@@\n-${outside}\n+b\n*** End Patch`, 'a', outside),
  stretchesIn,
  similarTexts: outside => similarTexts([outside, `${outside}b`], outside.slice(0, 2000)),
  excerpt: outside => excerpt(outside, { head: 200, tail: 200 } as never),
  truncateOutput: outside => truncateOutput(outside, { head: 20, tail: 20 }),
  safeName,
  readHeadings,
  replaceSection: outside => replaceSection(`# A\n${outside}\n`, `# A > ${outside}`, 'new'),
  explainMiss: outside => explainMiss(`${outside}b`, outside.slice(0, 2000)),
  placesOf: outside => placesOf(outside, nearly(outside)),
  splitBy: outside => splitBy(outside, nearly(outside)),
  replaceUnique: outside => replaceUnique(outside, nearly(outside), 'new'),
  mergeTexts: outside => mergeTexts(body(outside), body(`${outside}b`), body(`c${outside}`)),
  diffTexts: outside => diffTexts(outside, `${outside}b`),
  reveal,
  hiddenIn,
  readMessage,
  splitJsonValues: outside => [...splitJsonValues(outside)],
  valuesInLine,
  fitsPattern: outside => fitsPattern(outside, '*a*a*a*a*a*b'),
  sideOf: outside => sideOf(new Headers(), {}, [text(outside)]),
  isOverflowText,
  printable,
  oneLine: outside => oneLine(outside, 80),
  widthOf,
  clip: outside => clip(outside, 80),
  MarkdownStream: outside => {
    const stream = new MarkdownStream(() => ({ width: 80, marks: false }))
    for (let at = 0; at < outside.length; at += 4096) {
      stream.push(outside.slice(at, at + 4096))
      stream.pending()
    }
    return stream.end()
  },
}

for (const [name, read] of Object.entries(READERS)) {
  const takeShort = (shape: Shape) => {
    const short = timeOf(() => read(outside(shape, SHORT)))
    assert.ok(short < SHORT_MS, `${short} ms of processor for ${JSON.stringify(shape)}`)
  }

  test(`${name} takes linear time for any text`, () => {
    for (const shape of SHAPES) {
      takeShort(shape)
      if (shape[0] !== '' || !LONG_SIGNS.has(shape[1])) continue
      const long = timeOf(() => read(outside(shape, LONG)))
      assert.ok(long < LONG_MS, `${long} ms of processor for ${LONG} characters of ${JSON.stringify(shape)}`)
    }
  })

  const signs = fc.array(fc.constantFrom(...SIGNS, ...WORDS, '\n'), { minLength: 2, maxLength: 5 })
  test(`${name} takes linear time for a repetition of any signs`, () => {
    fc.assert(
      fc.property(signs, some => takeShort(['', some.join(''), 'x'])),
      { numRuns: 10 },
    )
  })
}

test('keys that look like the marks for keys take linear time', () => {
  const keys = Array.from({ length: 100_000 }, (_, i) => `"~${i}~":1`)
  assert.ok(timeOf(() => parseJson(`{"\\n":1,${keys.join()}}`)) < SHORT_MS)
})

test('texts of lines that are alike are merged or shown in a bounded time', () => {
  for (const lines of [250, 500, 1000, 2000, 4000, 8000, 16_000]) {
    for (const line of [
      (_: number) => 'a',
      (i: number) => `${i % 2}`,
      (i: number) => `${i % 100}`,
      (i: number) => `${i}`,
    ]) {
      const all = Array.from({ length: lines }, (_, i) => `${line(i)}\n`).join('')
      const merge = () => mergeTexts(body(`q\n${all}`), body(`p\n${all}b`), body(`c\n${all}`))
      assert.ok(timeOf(merge) < 2 * SHORT_MS, `${lines} lines like ${line(1)}`)
    }
  }
})

test('a block of Markdown takes a bounded time, whatever its lines', () => {
  const signs = [...SHAPES.map(([, sign]) => sign), '**a_', '_a)', '<**a', '> - ', '1) ']
  for (const sign of signs) {
    const line = outside(['', sign, ''], 2000)
    const block = `${line}\n`.repeat(9)
    const ms = timeOf(() => {
      renderBlock(block, { width: 80, marks: false })
      new MarkdownStream(() => ({ width: 80, marks: false })).push(block)
    })
    assert.ok(ms < SHORT_MS, `${ms} ms of processor for ${JSON.stringify(sign)}`)
  }
})

test('the facts of a proposal are compared with long blocks in a bounded time', () => {
  const words = ['tea', 'node', 'bonn', 'tests', 'commit', 'monday', 'algebra', 'format']
  const lines: ((i: number) => string)[] = [
    i => `word${i} is not like line${i}`,
    i => words.map((_, at) => `${words[(i + at) % 8]}${i % 200}`).join(' '),
    i => words.map((_, at) => words[(i + at) % 8]).join(' '),
    i => `- ${words.join(' ')} ${words.join(i % 9 ? '.' : '/')}${i}`,
  ]
  for (const line of lines) {
    const [some, others] = [0, 1].map(from => {
      const all = Array.from({ length: 2000 }, (_, i) => `${line(2 * i + from)}\n`)
      return all.join('').slice(0, 100_000)
    })
    const blocks = ['a', 'b', 'c'].map(label => ({ label, body: others }) as Block)
    const ms = timeOf(() => duplicatesOf({ label: 'a', body: some!, base: null }, { blocks, proposals: [] }))
    assert.ok(ms < SHORT_MS, `${ms} ms of processor for lines like ${line(1)}`)
  }
})

test('a session with such texts is planned, summarised and searched in linear time', async () => {
  const shapes = SHAPES.filter(([before, sign]) => before === '' && LONG_SIGNS.has(sign))
  assert.ok(shapes.length >= LONG_SIGNS.size)
  for (const shape of shapes) {
    await using pal = await openPalimpsest({ home: ':memory:' })
    const session = await pal.session('hostile', { model: 'claude-sonnet-4-5' })
    const start = process.cpuUsage()
    const content = outside(shape, SHORT)
    for (let i = 0; i < 4; i++) {
      await session.append(text(content), {
        role: 'assistant',
        parts: [{ type: 'tool-call', id: `c${i}`, name: 'bash', input: { command: content } }],
      })
      await session.append({
        role: 'tool',
        parts: [{ type: 'tool-result', id: `c${i}`, name: 'bash', output: content }],
      } as Message)
    }
    await session.view()
    await session.recall(content.slice(0, 1000))
    const ms = process.cpuUsage(start).user / 1000
    assert.ok(ms < 4 * SHORT_MS, `${ms} ms of processor for ${JSON.stringify(shape)}`)
  }
})

/** Calls with so many words or lines that they are too many for the arguments of a function. */
const MANY = 130_000
const LONG_CALLS: Record<string, [tool: string, input: unknown]> = {
  'a command of many commands': ['bash', { command: `bash -c "${'a;'.repeat(MANY)}"` }],
  'a command with many files': ['bash', { command: `mv ${'a '.repeat(MANY)}` }],
  'an edit of many lines': [
    'Edit',
    { file_path: '/a', old_string: 'x\n'.repeat(MANY), new_string: 'y\n'.repeat(MANY) },
  ],
  'a file of many lines': ['Write', { file_path: '/a', content: 'x\n'.repeat(MANY) }],
  'a patch of many lines': [
    'apply_patch',
    { input: `*** Begin Patch\n*** Update File: /a\n@@\n-x\n${'+b\n'.repeat(MANY)}*** End Patch` },
  ],
  'an insertion of many lines': [
    'str_replace_based_edit_tool',
    { command: 'insert', path: '/a', insert_line: 0, insert_text: 'x\n'.repeat(MANY) },
  ],
}

for (const [name, [tool, input]] of Object.entries(LONG_CALLS)) {
  test(`a session with ${name} is planned, and its files are known`, async () => {
    await using pal = await openPalimpsest({ home: ':memory:' })
    const session = await pal.session('long', { model: 'claude-sonnet-4-5' })
    for (const id of ['a', 'b']) {
      await session.append(
        text('go'),
        { role: 'assistant', parts: [{ type: 'tool-call', id, name: tool, input }] },
        { role: 'tool', parts: [{ type: 'tool-result', id, name: tool, output: 'x\n'.repeat(MANY) }] },
      )
      const { messages } = await session.view()
      assert.ok(messages.length > 0)
    }
    await session.changelog()
    await session.fileStateAt('/a', session.callsMade)
  })
}

test('a result of ten million characters without a blank is imported, planned and searched', async () => {
  await using pal = await openPalimpsest({ home: ':memory:' })
  const output = `/decide/${'aGVsbG8x'.repeat(1_250_000)}`
  const messages: Message[] = [
    text('go'),
    { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'bash', input: { command: 'base64 x' } }] },
    { role: 'tool', parts: [{ type: 'tool-result', id: 'c', name: 'bash', output }] },
    text('go on'),
  ]
  const start = process.cpuUsage()
  const { session } = await importSession(pal, { id: 'blob', messages, carried: 0, usage: [] })
  const opened = await pal.session(session, { model: 'claude-sonnet-4-5' })
  assert.equal((await opened.view()).messages.length, 4)
  await opened.suggest()
  assert.equal(stretchesIn(output)[0]?.reason, 'base64')
  await opened.recall('hello')
  assert.ok(process.cpuUsage(start).user / 1000 < 10 * SHORT_MS)
})

test('a session of many messages is opened again', async () => {
  await using pal = await openPalimpsest({ home: ':memory:' })
  const session = await pal.session('long')
  const some = Array.from({ length: MANY / 10 }, () => text('a'))
  for (let i = 0; i < 10; i++) await session.append(...some)
  const again = await pal.session('long')
  assert.equal((await again.messages()).length, MANY)
})

test('a message of many parts with many edits is priced and explained in a bounded time', () => {
  const [parts, edits] = [30_000, 6000]
  const timeline = new Timeline({ count, model: modelInfo('claude-sonnet-4-5') })
  const message = text('a')
  message.parts = Array.from({ length: parts }, (_, i) => ({ type: 'text', text: `part ${i}` }))
  const made = Array.from({ length: edits }, (_, i): Edit => {
    const target = { type: 'part' as const, entry: 0, part: 5 * i }
    return { id: `e${i}`, target, replacement: '…', by: 'user', why: 'test', saved: 1 }
  })
  const steps = {
    take: () => {
      timeline.take({ seq: 0, at: 0, event: { type: 'entry', message } })
      timeline.take({ seq: 1, at: 0, event: { type: 'edit', edits: made } })
    },
    price: () => momentOf(timeline, 1),
    explain: () => explainView(timeline.fold),
    texts: () => [...shownTexts(timeline.fold)],
  }
  for (const [name, step] of Object.entries(steps)) {
    const ms = timeOf(step)
    assert.ok(ms < SHORT_MS, `${name}: ${ms} ms of processor`)
  }
  assert.equal(explainView(timeline.fold)[0]?.edits.filter(({ shows }) => shows).length, edits)
})

test('what many edits hide in a long session is known in a bounded time', () => {
  const [entries, edits] = [60_000, 10_000]
  const fold = createFold(count)
  for (let seq = 0; seq < entries; seq++) applyEvent(fold, { type: 'entry', message: text(`${seq}`) }, { seq, at: 0 })
  const made = Array.from({ length: edits }, (_, i): Edit => {
    const target = { type: 'part' as const, entry: 6 * i, part: 0 }
    return { id: `e${i}`, target, replacement: '…', by: 'user', why: 'test', saved: 1 }
  })
  applyEvent(fold, { type: 'edit', edits: made }, { seq: entries, at: 0 })
  const all = Array.from({ length: entries }, (_, entry) => entry)
  let hidden: number[] = []
  const ms = timeOf(() => {
    const isHidden = hiderIn(fold)
    hidden = all.filter(entry => isHidden(entry, 0))
    for (const _ of all) withoutHiddenTexts(fold, [])
  })
  assert.ok(ms < SHORT_MS, `${ms} ms of processor`)
  assert.equal(hidden.length, edits)
})

test('messages of many parts reach every provider', () => {
  const parts: Message['parts'] = Array.from({ length: MANY }, (_, i) => ({ type: 'text', text: `${i}` }))
  const call = (_: unknown, i: number) => ({ type: 'tool-call' as const, id: `c${i}`, name: 'x', input: {} })
  const result = (_: unknown, i: number) => ({ type: 'tool-result' as const, id: `c${i}`, name: 'x', output: 'y' })
  const messages: Message[] = [
    { role: 'user', parts },
    { role: 'assistant', parts: Array.from({ length: MANY }, call) },
    { role: 'tool', parts: Array.from({ length: MANY }, result) },
    { role: 'user', parts },
  ]
  assert.deepEqual(checkView(messages), [])
  assert.equal(waitingCalls(messages.slice(0, 2)).length, MANY)
  const late = legalize([messages[0]!, messages[2]!], { dialect: 'anthropic' })
  assert.deepEqual(checkView(late.messages), [])
  assert.ok(toAnthropic(messages).messages.length > 0)
  assert.ok(toGemini(messages).contents.length > 0)
  assert.ok(toOpenAIResponses(messages).input.length > 0)
  for (const list of [toOpenAIChat(messages), toAiSdk(messages), toLangChain(messages)]) assert.ok(list.length > 0)
})

function body(text: string) {
  return { title: '', body: text }
}

/** A text that nearly occurs at every place: a search that begins anew at each takes quadratic time. */
function nearly(outside: string): string {
  const half = outside.slice(0, outside.length / 4)
  return `${half}\u0001${half}`
}

function outside([before, sign, after]: Shape, length: number): string {
  return before + sign.repeat(length / sign.length) + after
}
