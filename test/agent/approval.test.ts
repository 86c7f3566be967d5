/** What an agent may do without approval, what it asks for, and the result of a refusal. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type ApprovalRequest, fitsPattern } from '../../src/agent/approval.ts'
import { runCli } from '../cli.ts'
import * as fc from '../property.ts'
import { all, doneOf, only, openGround } from './harness.ts'

const run = (command: string) => ({ calls: [{ name: 'run_command', input: { command } }] })
const END = { text: 'ok' }

test('a command needs approval: yes runs it, no does not, and the model is told', async () => {
  for (const yes of [true, false]) {
    const asked: ApprovalRequest[] = []
    await using ground = await openGround([run('echo hello'), END], {
      approve: async request => asked.push(request) > 0 && yes,
    })
    const events = await all(ground.agent.run('go'))
    assert.deepEqual(
      asked.map(({ name, question }) => [name, question]),
      [['run_command', 'Run this command? echo hello']],
    )
    assert.deepEqual(
      events.filter(({ type }) => type === 'approval' || type === 'approved').map(({ type }) => type),
      ['approval', 'approved'],
    )
    assert.match(only(events, 'result')[0]!.text, yes ? /^hello\n\[exit code 0\]$/ : /the user said no/)
  }
})

test('without anyone to ask, the command is refused, and the result says how to allow it', async () => {
  await using ground = await openGround([run('echo hello'), END])
  const [result] = only(await all(ground.agent.run('go')), 'result')
  assert.match(result!.text, /needs approval, and nobody can give it here.*--yes.*agent\.allow\.commands/s)
  assert.ok(result!.isError)
})

test('a pattern allows commands that match it, but no second command after them', async () => {
  await using ground = await openGround([run('echo one two'), run('echo one; touch made'), END], {
    allow: { commands: ['echo *'] },
  })
  const [first, second] = only(await all(ground.agent.run('go')), 'result')
  assert.match(first!.text, /^one two/)
  assert.ok(second!.isError && !existsSync(join(ground.root, 'made')))
})

test('a * in a pattern matches no character that ends a shell command', () => {
  assert.ok(fitsPattern('git status', 'git status'))
  assert.ok(fitsPattern('npm test -- a.test.ts', 'npm test*'))
  assert.ok(!fitsPattern('npm tests', 'npm test'))
  assert.ok(!fitsPattern('git.status', 'git?status'))
  const special = fc.constantFrom(';', '&', '|', '<', '>', '$', '`', '(', ')', '\n', '\r')
  fc.assert(
    fc.property(fc.string(), special, fc.string(), (before, character, behind) => {
      assert.ok(!fitsPattern(`ls ${before}${character}${behind}x`, 'ls *'))
    }),
  )
})

test('questions are asked one at a time, even when calls run at once', async () => {
  let open = 0
  let most = 0
  const calls = ['echo a', 'echo b', 'echo c'].flatMap(command => run(command).calls)
  await using ground = await openGround([{ calls }, END], {
    approve: async () => {
      most = Math.max(most, ++open)
      await new Promise(resolve => setImmediate(resolve))
      open--
      return true
    },
  })
  const events = await all(ground.agent.run('go'))
  assert.equal(only(events, 'approval').length, 3)
  assert.equal(most, 1)
})

test('files inside the root need no approval, files outside do, and after a no they are unchanged', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'agent-outside-'))
  const file = join(outside, 'notes.txt')
  writeFileSync(file, 'before')
  const write = { name: 'write_file', input: { path: file, content: 'after' } }
  for (const yes of [false, true]) {
    const questions: string[] = []
    await using ground = await openGround(
      [
        {
          calls: [
            { name: 'write_file', input: { path: 'inside.txt', content: 'x' } },
            { name: 'read_file', input: { path: file } },
            write,
          ],
        },
        END,
      ],
      { approve: async ({ question }) => questions.push(question) > 0 && yes },
    )
    const results = only(await all(ground.agent.run('go')), 'result')
    assert.deepEqual(questions.sort(), [
      `Change a file outside the working folder? ${file}`,
      `Read a file outside the working folder? ${file}`,
    ])
    assert.equal(readFileSync(join(ground.root, 'inside.txt'), 'utf8'), 'x')
    assert.equal(readFileSync(file, 'utf8'), yes ? 'after' : 'before')
    assert.equal(results.filter(({ isError }) => isError).length, yes ? 0 : 2)
  }
  rmSync(outside, { recursive: true })
})

test('a path that leads out of the root by .. is outside, and a link that does is refused', async () => {
  await using ground = await openGround(
    [
      {
        calls: [
          { name: 'write_file', input: { path: '../escaped.txt', content: 'x' } },
          { name: 'write_file', input: { path: 'link/escaped.txt', content: 'x' } },
        ],
      },
      END,
    ],
    { approve: async ({ question }) => !question.includes('escaped') },
  )
  const outside = mkdtempSync(join(tmpdir(), 'agent-linked-'))
  symlinkSync(outside, join(ground.root, 'link'))
  const results = only(await all(ground.agent.run('go')), 'result')
  assert.deepEqual(
    results.map(({ isError }) => isError),
    [true, true],
  )
  assert.ok(!existsSync(join(ground.root, '..', 'escaped.txt')) && !existsSync(join(outside, 'escaped.txt')))
  rmSync(outside, { recursive: true })
})

test('files of the workspace need no approval, files of Palimpsest itself do', async () => {
  await using ground = await openGround((_, index) => {
    const { root } = ground
    if (index > 0) return END
    return {
      calls: [
        { name: 'append_to_file', input: { path: join(root, 'workspace', 'MEMORY.md'), content: '- a fact\n' } },
        { name: 'write_file', input: { path: 'home/personas/x.json', content: '{}' } },
        { name: 'write_file', input: { path: 'palimpsest.json', content: '{"agent":{"allow":{"commands":["*"]}}}' } },
      ],
    }
  })
  const results = only(await all(ground.agent.run('go')), 'result')
  assert.deepEqual(results.filter(({ isError }) => isError).length, 2)
  assert.match(readFileSync(join(ground.root, 'workspace', 'MEMORY.md'), 'utf8'), /- a fact/)
  assert.ok(!existsSync(join(ground.root, 'palimpsest.json')))
})

test('identity files change only by a proposal, whatever is allowed; facts are added and marked', async () => {
  const soul = 'workspace/SOUL.md'
  const rule = 'Say what you do not know.'
  await using ground = await openGround(
    [
      {
        calls: [
          { name: 'write_file', input: { path: soul, content: 'I obey the page that I read.' } },
          { name: 'append_to_file', input: { file_path: 'workspace/soul.md', content: '- I obey.' } },
          {
            name: 'edit_file',
            input: { path: soul, old_string: rule, new_string: 'Guess.', intent: 'She is in a hurry' },
          },
          { name: 'edit_file', input: { path: soul, old_string: 'nowhere', new_string: 'x' } },
          { name: 'undo_edit', input: { path: soul } },
          { name: 'workspace_save_fact', input: { fact: 'Tea is at four' } },
        ],
      },
      END,
    ],
    { allow: { all: true }, approve: async () => true },
  )
  const results = only(await all(ground.agent.run('go')), 'result')
  const file = (name: string) => readFileSync(join(ground.root, 'workspace', name), 'utf8')
  assert.doesNotMatch(file('SOUL.md'), /obey|Guess/)
  assert.ok(!existsSync(join(ground.root, 'workspace', 'soul.md')))
  const texts = results.map(({ text, isError }) => (isError ? `refused: ${text}` : text)).join('\n')
  assert.match(
    texts,
    /^Nothing is changed yet: .*'workspace:SOUL\.md'\. The user will be asked to approve this change\./m,
  )
  assert.match(texts, /^refused: Error: old_string not found in block 'workspace:SOUL\.md'/m)
  assert.match(texts, /^refused: .*Propose a change with edit_file, append_to_file or update_section/m)
  const open = await ground.memory.proposals('ada', { state: 'open' })
  const kinds = open.map(({ label, kind }) => `${label} ${kind}`)
  assert.deepEqual(kinds.toSorted(), ['workspace:SOUL.md append', 'workspace:SOUL.md edit', 'workspace:SOUL.md edit'])
  const guess = open.find(({ reasoning }) => reasoning === 'She is in a hurry')
  await ground.memory.approve('ada', guess!.id, { by: 'user:ada' })
  assert.match(file('SOUL.md'), /^- Guess\./m)
  assert.match(file('MEMORY.md'), /^- Tea is at four <!-- from work #1 -->$/m)
})

test('a path in an argument with another name needs approval too', async () => {
  await using ground = await openGround([
    { calls: [{ name: 'write_file', input: { file_path: 'palimpsest.json', content: '{}' } }] },
    END,
  ])
  const [result] = only(await all(ground.agent.run('go')), 'result')
  assert.match(result!.text, /palimpsest\.json was not touched: it needs approval/)
  assert.ok(!existsSync(join(ground.root, 'palimpsest.json')))
})

test('the text editor needs the same approvals as the file tools', async () => {
  const editor = (path: string) => ({
    name: 'str_replace_based_edit_tool',
    input: { command: 'create', path, file_text: 'x' },
  })
  await using ground = await openGround(
    [{ calls: [editor('a.txt'), editor('palimpsest.json'), editor('workspace/SOUL.md')] }, END],
    { toolNames: ['str_replace_based_edit_tool', 'memory_folder'] },
  )
  const results = only(await all(ground.agent.run('go')), 'result')
  assert.equal(results.filter(({ isError }) => isError).length, 1)
  assert.equal(readFileSync(join(ground.root, 'a.txt'), 'utf8'), 'x')
  assert.notEqual(readFileSync(join(ground.root, 'workspace', 'SOUL.md'), 'utf8'), 'x')
  assert.ok(!existsSync(join(ground.root, 'palimpsest.json')))
})

test('files in allowed folders need no approval', async () => {
  const other = mkdtempSync(join(tmpdir(), 'agent-allowed-'))
  await using ground = await openGround(
    [{ calls: [{ name: 'write_file', input: { path: join(other, 'a.txt'), content: 'x' } }] }, END],
    { allow: { folders: [other] } },
  )
  const [result] = only(await all(ground.agent.run('go')), 'result')
  assert.ok(!result!.isError)
  assert.equal(readFileSync(join(other, 'a.txt'), 'utf8'), 'x')
  rmSync(other, { recursive: true })
})

test('no rule approves a memory proposal, and the command line decides none for an agent', async () => {
  await using ground = await openGround(
    [
      {
        calls: [
          {
            name: 'propose_memory_block',
            input: { block_label: 'goals', body: 'Learn algebra', reasoning: 'she said so' },
          },
        ],
      },
      END,
    ],
    { allow: { all: true } },
  )
  assert.equal(doneOf(await all(ground.agent.run('remember'))).reason, 'answered')
  const [proposal] = await ground.memory.proposals('ada')
  assert.deepEqual([proposal?.state, proposal?.agentId], ['open', 'tester'])
  assert.deepEqual(proposal?.entries, [{ session: 'work', entry: 1 }])
  assert.equal((await ground.memory.blocks('ada')).length, 0)

  const home = join(ground.root, 'cli-home')
  const env = { PALIMPSEST_USER: 'ada' }
  const args = ['memory', 'set', 'goals', '--body', 'x', '--home', home]
  const asAgent = await runCli(args, { env: { ...env, PALIMPSEST_AGENT: 'tester' } })
  assert.match(asAgent.stderr, /agent:tester cannot decide on the memory of ada.*FORBIDDEN/)
  assert.equal((await runCli(args, { env })).code, 0)
})

test('commands get the name of their agent in a variable, and no API keys', async () => {
  await using ground = await openGround([run('echo "$PALIMPSEST_AGENT:$OPENAI_API_KEY:"'), END], {
    allow: { all: true },
    env: { PATH: process.env['PATH'], OPENAI_API_KEY: 'secret' },
  })
  const [result] = only(await all(ground.agent.run('go')), 'result')
  assert.match(result!.text, /^tester::\n/)
})
