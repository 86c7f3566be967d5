/** `palimpsest doctor` on real files: what it finds and repairs, and that a healed file is sound. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { type WireDialect, wireFormOf } from '../../src/formats/wire-form.ts'
import { runCli } from '../cli.ts'
import { ROOT } from './run-cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-doctor-'))
after(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
function fileWith(value: unknown): string {
  const path = join(folder, `file-${files++}.json`)
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  return path
}

const use = (id: string) => ({ type: 'tool_use', id, name: 'read', input: { path: 'a' } })
const answer = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: `content of ${id}` })
const call = (id: string) => ({ id, type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } })

/** One conversation for each dialect with the same three faults: a lost result, a stray result, a call made twice. */
const BROKEN: Record<WireDialect, unknown> = {
  anthropic: {
    model: 'claude-sonnet-4-5',
    max_tokens: 1000,
    system: 'be brief',
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [use('lost')] },
      { role: 'user', content: 'and?' },
      { role: 'assistant', content: [use('twice')] },
      { role: 'user', content: [answer('twice')] },
      { role: 'assistant', content: [use('twice')] },
      { role: 'user', content: [answer('twice'), answer('stray')] },
    ],
  },
  'openai-chat': [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: 'go' },
    { role: 'assistant', content: null, tool_calls: [call('lost')] },
    { role: 'user', content: 'and?' },
    { role: 'assistant', content: null, tool_calls: [call('twice')] },
    { role: 'tool', tool_call_id: 'twice', content: 'one' },
    { role: 'assistant', content: null, tool_calls: [call('twice')] },
    { role: 'tool', tool_call_id: 'twice', content: 'two' },
    { role: 'tool', tool_call_id: 'stray', content: 'three' },
  ],
  'openai-responses': {
    model: 'gpt-5',
    instructions: 'be brief',
    input: [
      { role: 'user', content: 'go' },
      { type: 'function_call', call_id: 'lost', name: 'read', arguments: '{}' },
      { role: 'user', content: 'and?' },
      { type: 'function_call', call_id: 'twice', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'twice', output: 'one' },
      { role: 'assistant', content: 'again' },
      { type: 'function_call', call_id: 'twice', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'twice', output: 'two' },
      { type: 'function_call_output', call_id: 'stray', output: 'three' },
    ],
  },
}

describe('messages of a provider', () => {
  for (const [dialect, value] of Object.entries(BROKEN)) {
    test(`in the form of ${dialect} are recognised, diagnosed by rule and place, and healed`, async () => {
      const file = fileWith(value)
      const found = await runCli(['doctor', file, '--json'])
      assert.equal(found.code, 1)
      const report = JSON.parse(found.stdout)
      assert.equal(report.format, dialect)
      const [{ violations }] = report.sessions
      const rules = new Set(violations.map(({ rule }: { rule: string }) => rule))
      assert.deepEqual(rules, new Set(['call-without-result', 'duplicate-call', 'result-without-call']))
      assert.ok(violations.every(({ index }: { index: number }) => Number.isInteger(index)))

      const out = join(folder, `healed-${dialect}.json`)
      const healed = await runCli(['doctor', file, '--heal', out])
      assert.equal(healed.code, 0, healed.stderr)
      assert.match(healed.stdout, /^healed {2}/m)
      const again = await runCli(['doctor', out, '--dialect', dialect])
      assert.deepEqual([again.code, again.stdout.includes('No rules are broken.')], [0, true])
      const text = readFileSync(out, 'utf8')
      assert.equal(wireFormOf(JSON.parse(text))?.dialect, dialect)
      assert.match(text, /be brief/)
      assert.match(text, /read was interrupted/)
    })
  }

  test('without faults are written unchanged', async () => {
    const value = { model: 'm', stream: true, messages: [{ role: 'user', content: 'hello', name: 'ann', extra: 1 }] }
    const { stdout, code } = await runCli(['doctor', fileWith(value), '--heal', '-'])
    assert.deepEqual([code, JSON.parse(stdout)], [0, value])
  })

  test('are healed into a new file, and with --force also in place', async () => {
    const file = fileWith(BROKEN['openai-chat'])
    const { code, stderr } = await runCli(['doctor', file, '--heal', file])
    assert.deepEqual([code, /already exists/.test(stderr)], [4, true])
    assert.equal((await runCli(['doctor', file, '--heal', file, '--force'])).code, 0)
    assert.equal((await runCli(['doctor', file])).code, 0)
  })

  test('with lone surrogates are reported and repaired', async () => {
    const file = fileWith('[{"role":"user","content":"half \\ud83d"}]')
    assert.match((await runCli(['doctor', file])).stdout, /^invalid-unicode {2}message 0 \(user\)/m)
    assert.match((await runCli(['doctor', file, '--heal', '-'])).stdout, /half \ufffd/)
  })
})

describe('a file', () => {
  const fails = async (file: string, code: string, exit: number) => {
    const ran = await runCli(['doctor', file])
    assert.equal(ran.code, exit)
    assert.match(ran.stderr, new RegExp(`^palimpsest: [^\\n]+ \\(${code}\\)\\n$`))
  }

  test('that is missing, a folder, empty, not JSON or of no known form is refused with its error code', async () => {
    await fails(join(folder, 'missing.json'), 'FILE_NOT_FOUND', 3)
    await fails(folder, 'FORMAT_UNKNOWN', 5)
    await fails(fileWith(''), 'FORMAT_UNKNOWN', 5)
    await fails(fileWith('just words'), 'FORMAT_UNKNOWN', 5)
    await fails(fileWith('{"messages": ['), 'FORMAT_BROKEN', 5)
    await fails(fileWith({ nothing: 1 }), 'FORMAT_UNKNOWN', 5)
    assert.equal((await runCli(['doctor', fileWith([]), '--dialect', 'morse'])).code, 2)
  })

  const trace = join(ROOT, '../shared/traces/pi')
  test('of an agent is read as a transcript', {
    skip: existsSync(trace) ? false : 'no ../shared/traces',
  }, async () => {
    const { globSync } = await import('node:fs')
    const [file] = globSync('**/*.jsonl', { cwd: trace })
    const { stdout } = await runCli(['doctor', join(trace, file!), '--json'])
    const { format, sessions } = JSON.parse(stdout)
    assert.equal(format, 'pi')
    assert.ok(sessions[0].messages > 10)
  })
})

test('is recognised by fields that only one provider writes', () => {
  const formOf = (value: unknown) => wireFormOf(value)?.dialect
  assert.equal(formOf([{ role: 'user', content: 'hi' }]), 'openai-chat')
  assert.equal(formOf({ system: 'x', messages: [{ role: 'user', content: 'hi' }] }), 'anthropic')
  assert.equal(formOf([{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }]), 'openai-responses')
  assert.equal(formOf([{ role: 'user', parts: [] }]), 'neutral')
  assert.equal(formOf([{ from: 'me' }]), undefined)
  assert.equal(formOf('hi'), undefined)
  assert.equal(formOf([]), undefined)
})
