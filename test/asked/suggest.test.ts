import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { stretchesIn } from '../../src/asked/stretches.ts'
import type { Message } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import * as fc from '../property.ts'

async function open(model = 'claude-sonnet-4-5'): Promise<Session> {
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000 })
  return pal.session('test', { model })
}

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
const says = (text: string): Message => ({ role: 'assistant', parts: [{ type: 'text', text }] })
const step = (id: string, output: string, reasoning?: string): Message[] => [
  {
    role: 'assistant',
    parts: [
      ...(reasoning ? [{ type: 'reasoning' as const, text: reasoning }] : []),
      { type: 'tool-call', id, name: 'bash', input: { command: 'run' } },
    ],
  },
  { role: 'tool', parts: [{ type: 'tool-result', id, name: 'bash', output }] },
]

const lines = (count: number, line: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n')

const node = `Error: boom\n${lines(14, i => `    at step${i} (/repo/src/file${i}.ts:${i + 10}:${i})`)}`
const python = `Traceback (most recent call last):\n${lines(9, i => `  File "/repo/app/module_${i}.py", line ${i * 7}, in call_${i}\n    return handler_${i}(request)`)}\nValueError: bad`
const java = `java.lang.IllegalStateException: no\n${lines(12, i => `\tat com.example.app.Service${i}.run(Service${i}.java:${i + 5})`)}\nCaused by: x`
const go = `panic: nil\n\ngoroutine 1 [running]:\n${lines(8, i => `main.handler${i}(0xc000)\n\t/repo/cmd/main${i}.go:${i + 30} +0x1d`)}\nexit status 2`
const rust = `thread 'main' panicked\nstack backtrace:\n${lines(12, i => `   ${i}: core::panicking::panic_fmt_number_${i}\n             at /rustc/library/core/src/panicking_${i}.rs:64:14`)}`
const npm = `${lines(20, i => `npm warn deprecated package-${i}@1.${i}.0: this version is not supported any more`)}\nadded 847 packages in 12s`
const pip = lines(20, i => `Collecting package-${i}\n  Downloading package_${i}-1.0-py3-none-any.whl (${i} kB)`)
const apt = lines(20, i => `Get:${i} http://mirror.example/debian bookworm/main amd64 lib${i} amd64 1.${i} [${i} kB]`)
const log = lines(
  60,
  i => `2026-11-01T10:00:${String(i).padStart(2, '0')}Z INFO  server handled request GET /api/users id=${i * 37}`,
)
const sameStart = lines(40, i => `the quick brown fox jumps over the lazy dog and over the fence number ${i}`)
const json = JSON.stringify(
  { users: Array.from({ length: 80 }, (_, id) => ({ id, name: `User ${id}` })), total: 80 },
  null,
  2,
)
const blob = Buffer.from(lines(60, i => `some bytes ${i * 7919}`)).toString('base64')
const pem = `-----BEGIN CERTIFICATE-----\n${blob.match(/.{64}/g)!.join('\n')}\n-----END CERTIFICATE-----`

describe('what is found', () => {
  const cases: [name: string, text: string, reason: string][] = [
    ['a Node stack trace', node, 'stack trace'],
    ['a Python traceback', python, 'stack trace'],
    ['a Java stack trace', java, 'stack trace'],
    ['a Go panic', go, 'stack trace'],
    ['a Rust backtrace', rust, 'stack trace'],
    ['output of npm', npm, 'package manager output'],
    ['output of pip', pip, 'package manager output'],
    ['output of apt', apt, 'package manager output'],
    ['a log of one shape', log, 'repeated lines'],
    ['lines that begin alike', sameStart, 'repeated lines'],
    ['large JSON', json, 'large JSON'],
    ['JSON behind lines that look like its beginning', `[info] start\n{ not json\n${json}\n[info] end`, 'large JSON'],
    ['base64 in one line', `data: ${blob}`, 'base64'],
    ['base64 in lines', pem, 'base64'],
  ]
  for (const [name, text, reason] of cases) {
    test(`${name}: the suggestion can be applied and saves tokens`, async () => {
      const session = await open()
      await session.append(user('go'), ...step('c1', `before\n${text}\nafter`), says('done'))
      const [first, ...others] = await session.suggest()
      assert.equal(first?.reason, reason)
      assert.deepEqual(others, [])
      assert.equal(first.entry, 2)
      const { tokensSaved } = await session.edit([first.operation])
      assert.ok(tokensSaved > 0 && Math.abs(tokensSaved - first.tokens) <= 3, `${tokensSaved}, ${first.tokens}`)
      assert.match(JSON.stringify((await session.view()).messages[2]), /before.*\[.*\].*after/)
    })
  }

  test('in a stack trace the error message stays and the frames go', async () => {
    const session = await open()
    await session.append(user('go'), ...step('c1', python), says('done'))
    const [first] = await session.suggest()
    await session.edit([first!.operation])
    const shown = JSON.stringify((await session.view()).messages[2])
    assert.match(shown, /Traceback \(most recent call last\).*\[stack trace: 17 lines\].*ValueError: bad/)
  })

  test('prose, code and short texts are not suggested', () => {
    const code = lines(
      60,
      i =>
        `  const ${'abcdefghij'[i % 10]}${i} = await ${'klmno'[i % 5]}.load(${i % 2 ? '' : "'x'"})${i % 3 ? ' // why' : ''}`,
    )
    const prose = lines(
      30,
      i => `${'One day the sun rose over a town. '.slice(i)} And then ${'xyz'.repeat(i % 4)} it set, at last.`,
    )
    for (const text of [code, prose, 'short', node.split('\n').slice(0, 3).join('\n'), '']) {
      assert.deepEqual(
        stretchesIn(text).map(stretch => stretch.reason),
        [],
      )
    }
  })
})

describe('every suggestion', () => {
  const noise = fc.oneof(
    fc.nat(40).map(n => lines(10 + n, i => `    at fn${i % 7} (/srv/app/${n}/f${i}.js:${i}:${n})`)),
    fc.nat(40).map(n => lines(12 + n, i => `10:${n}:${i} WARN worker ${i % 3} retry ${i} of batch ${n}`)),
    fc.nat(40).map(n => lines(12 + n, () => `the same line again and again, ${n} of them, without a difference`)),
    fc.nat(40).map(n => lines(8 + n, i => `npm warn deprecated left-pad@${n}.${i}: use String.prototype.padStart`)),
    fc.nat(40).map(n => JSON.stringify(Array.from({ length: 90 + n }, (_, id) => ({ id, tag: `t${n}` })))),
    fc.nat(40).map(n => JSON.stringify({ n, rows: Array.from({ length: 90 }, (_, id) => ({ id })) }, null, 1)),
    fc.uint8Array({ minLength: 320, maxLength: 900 }).map(bytes => Buffer.from(bytes).toString('base64')),
    fc.lorem({ maxCount: 60 }),
    fc.string({ unit: 'grapheme', maxLength: 80 }),
  )
  const output = fc.array(noise, { minLength: 1, maxLength: 4 }).map(blocks => blocks.join('\n\n'))
  const run = fc.record({ output, again: fc.boolean(), pin: fc.boolean(), reasoning: fc.boolean() })

  test('can be applied, alone and with all others, and saves tokens', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 4 }), async runs => {
        const session = await open()
        await session.append(user('go'))
        for (const [i, { output, again, pin, reasoning }] of runs.entries()) {
          await session.append(...step(`c${i}`, output, reasoning ? 'hm' : undefined))
          if (again) await session.append(...step(`d${i}`, output))
          if (pin) await session.pin(session.fold.entries.length - 1)
        }
        // The generated outputs may offer nothing; this one always does.
        await session.append(...step('last', log))
        const suggestions = await session.suggest()
        assert.ok(suggestions.some(({ entry }) => entry === session.fold.entries.length - 1))
        const before = JSON.stringify((await session.view()).messages)
        for (const { operation } of suggestions) {
          const { edits, tokensSaved } = await session.edit([operation])
          assert.ok(tokensSaved > 0)
          await session.undo(edits[0]!.id)
          assert.equal(JSON.stringify((await session.view()).messages), before)
        }
        const targets = suggestions.map(({ operation }) => operation)
        const { replacements } = await session.edit(targets)
        assert.equal(replacements.length, targets.length)
      }),
      { numRuns: 60 },
    )
  })

  test('parts that cannot be edited are not suggested: pinned, by the user, or being answered', async () => {
    const session = await open()
    await session.append(user(log), ...step('c1', json), user('more'), {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: npm },
      ],
    })
    await session.pin(2)
    assert.deepEqual(await session.suggest(), [])
    await session.pin(2, { on: false })
    assert.equal((await session.suggest()).length, 1)
  })

  test("on a model that binds reasoning, nothing before the running turn's reasoning is suggested", async () => {
    const session = await open('claude-opus-5-5')
    await session.append(user('go'), ...step('c1', json), ...step('c2', 'ok', 'think'))
    assert.deepEqual(await session.suggest(), [])
    await session.append(says('done'), user('more'), says('x'))
    assert.equal((await session.suggest()).length, 1)
  })

  test('suggestions are sorted by saving, and their number is limited', async () => {
    const session = await open()
    await session.append(user('go'), ...step('c1', log), ...step('c2', npm), ...step('c3', node), says('done'))
    const all = await session.suggest()
    assert.equal(all.length, 3)
    assert.deepEqual(
      all.map(s => s.tokens),
      all.map(s => s.tokens).sort((a, b) => b - a),
    )
    assert.deepEqual(await session.suggest(1), all.slice(0, 1))
  })
})

describe('odd texts', () => {
  const odd: Record<string, string> = {
    'blanks in one line': ' '.repeat(200_000),
    'blanks before a letter': `${' '.repeat(200_000)}x`,
    'letters in one line': `\t${'a'.repeat(200_000)}`,
    brackets: '['.repeat(100_000),
    'brackets in lines': '[\n'.repeat(50_000),
    'quotes that never close': `{"${'\\"'.repeat(100_000)}`,
    'words that begin base64': 'AbC123/+'.repeat(49).concat(' ').repeat(400),
  }
  for (const [name, text] of Object.entries(odd)) {
    test(`${name}: every suggested stretch is in the text, and none overlaps another`, () => {
      const found = [text, `${text}\n\n${'AbC123/+'.repeat(400)}\n\n`].map(whole => {
        const stretches = stretchesIn(whole).sort((a, b) => a.from - b.from)
        for (const [i, { from, to }] of stretches.entries()) {
          assert.ok(from >= (stretches[i - 1]?.to ?? 0) && from < to && to <= whole.length)
        }
        return stretches.length
      })
      assert.ok(found[1]! > 0, 'a stretch behind it is found')
    })
  }
})
