import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { thrifty } from '../../src/planner/thrifty.ts'
import { definePolicy, type PolicyContext } from '../../src/policies/define-policy.ts'
import { everyTurn } from '../../src/policies/policy.ts'
import { checkPolicy } from '../../src/replay/check-policy.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { coding, policyContract } from '../contracts/policy.ts'
import { bash, says, user } from './talk.ts'

const noOutput = definePolicy('no-output', ({ parts }) =>
  parts
    .filter(part => part.type === 'tool-result' && part.tokens > 20)
    .map(part => ({ part, replacement: '[left out]', why: 'too long' })),
)

policyContract(() => everyTurn('own', [noOutput]), { runs: 10 })

describe('a custom policy', () => {
  test('is applied to a session when it is given as its planner', async () => {
    const pal = await openPalimpsest({ home: ':memory:' })
    const session = await pal.session('s', { planner: noOutput })
    assert.equal(session.options.policy.name, 'no-output')
    await session.append(user('go'), ...bash('ls', 'word '.repeat(50)), says('done'))
    const { messages } = await session.view()
    assert.match(JSON.stringify(messages), /\[left out\]/)
    const [edit] = session.edits()
    assert.deepEqual([edit?.edit.by, edit?.edit.why], ['policy:no-output', 'too long'])
    await pal.close()
  })

  test('gets the parts, which of them are fresh, the tokens and the window', async () => {
    const seen: PolicyContext[] = []
    const watch = definePolicy('watch', context => {
      seen.push({ ...context, parts: [...context.parts] })
      return []
    })
    const pal = await openPalimpsest({ home: ':memory:', models: { small: { window: 5000 } } })
    const session = await pal.session('s', { planner: watch, model: 'small', overhead: 100 })
    await session.append(user('go'), ...bash('cat a.ts', 'text'))
    await session.view()
    await session.append(says('done'), user('more'))
    const { tokens } = await session.view()
    const [first, second] = seen
    assert.deepEqual(
      first!.parts.map(({ type, role, tool, text }) => [type, role, tool, text]),
      [
        ['text', 'user', undefined, 'go'],
        ['tool-call', 'assistant', first!.parts[1]!.tool, first!.parts[1]!.text],
        ['tool-result', 'tool', first!.parts[1]!.tool, 'text'],
      ],
    )
    assert.deepEqual(
      second!.fresh.map(part => part.text),
      ['done', 'more'],
    )
    assert.deepEqual([second!.window, second!.tokens], [5000, tokens + 100])
    await pal.close()
  })

  test('cannot edit messages of the user or pinned parts', async () => {
    const all = definePolicy('all', ({ parts }) => parts.map(part => ({ part, replacement: 'x', why: 'all' })))
    const pal = await openPalimpsest({ home: ':memory:' })
    const session = await pal.session('s', { planner: all })
    await session.append(user('go'), says('one'), user('two'), says('three'))
    await session.pin(1)
    await session.view()
    assert.deepEqual(
      session.edits().map(({ edit }) => edit.target),
      [{ type: 'part', entry: 3, part: 0 }],
    )
    await pal.close()
  })
})

describe('checkPolicy', () => {
  test('reports nothing for good policies, and their savings', async () => {
    const messages = coding(20)
    const own = await checkPolicy(noOutput, messages)
    assert.deepEqual(own.problems, [])
    assert.ok(own.edits.length > 0 && own.saved > 0)
    assert.deepEqual((await checkPolicy(thrifty({ keep: 'least' }), messages)).problems, [])
  })

  test('reports results that differ from run to run', async () => {
    let runs = 0
    const moving = definePolicy('moving', ({ fresh }) =>
      fresh
        .filter(part => part.type === 'tool-result')
        .map(part => ({ part, replacement: `run ${++runs}`, why: 'it moves' })),
    )
    const { problems } = await checkPolicy(moving, coding(5))
    assert.deepEqual(problems, ['two runs made different edits'])
  })
})

test('palimpsest.json can name a module, which works wherever the home is opened', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-module-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const source = join(import.meta.dirname, '../../src/policies/define-policy.ts')
  const module = `import { definePolicy } from ${JSON.stringify(source)}
    export default ({ tool }: { tool: string }) => definePolicy('no-tool', ({ parts }) =>
      parts.filter(part => part.type === 'tool-result' && part.tool === tool)
        .map(part => ({ part, replacement: '[none]', why: 'not wanted' })))`
  await writeFile(join(folder, 'no-tool.ts'), module)
  const write = (path: string, options: object) =>
    writeFile(
      join(folder, 'palimpsest.json'),
      JSON.stringify({ policy: { name: 'ours', policies: [{ use: 'module', path, options }] } }),
    )
  const home = join(folder, '.agent')
  const messages = [user('go'), ...bash('ls', 'word '.repeat(50)), says('done')]
  const tool = messages.flatMap(({ parts }) => parts).find(part => part.type === 'tool-call')!.name
  await write('./no-tool.ts', { tool })
  const pal = await openPalimpsest({ home })
  const session = await pal.session('s')
  assert.equal(session.options.policy.name, 'ours')
  await session.append(...messages)
  assert.match(JSON.stringify((await session.view()).messages), /\[none\]/)
  await pal.close()

  await write('./not-there.ts', {})
  await assert.rejects(openPalimpsest({ home }), {
    code: 'CONFIG_INVALID',
    message: /the policy \.\/not-there\.ts cannot be loaded/,
  })
  await writeFile(join(folder, 'wrong.ts'), 'export default 1')
  await write('./wrong.ts', {})
  await assert.rejects(openPalimpsest({ home }), { code: 'CONFIG_INVALID', message: /default export/ })
})

test('the knob is a word or a number, in code and in palimpsest.json', async () => {
  for (const keep of ['least', 'most', 0.1, 10] as const) {
    const { edits, problems } = await checkPolicy(thrifty({ keep }), coding(20))
    assert.deepEqual(problems, [])
    assert.ok(edits.length >= 0)
  }
  const saved = async (keep: 'least' | 'most' | number) => (await checkPolicy(thrifty({ keep }), coding(60))).saved
  assert.equal(await saved('least'), await saved(0.1))
  assert.ok((await saved('least')) > (await saved('most')))
  assert.throws(() => thrifty({ keep: 'much' as never }), {
    code: 'CONFIG_INVALID',
    message: /least, less, normal, more, most/,
  })
  const pal = await openPalimpsest({ home: ':memory:', config: { keep: 'least' } })
  assert.equal((await pal.session('s')).options.policy.name, 'thrifty')
  await pal.close()
  await assert.rejects(openPalimpsest({ home: ':memory:', config: { keep: 0 } }), { code: 'CONFIG_INVALID' })
})
