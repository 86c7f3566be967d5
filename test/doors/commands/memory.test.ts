import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { userFolder } from '../../../src/ledger/owners.ts'
import { type Ran, type RunOptions, runCli } from '../../cli.ts'

const root = mkdtempSync(join(tmpdir(), 'palimpsest-memory-'))
after(() => rmSync(root, { recursive: true, force: true }))
let homes = 0

type Cli = (args: string[], given?: RunOptions) => Promise<Ran>

/** The command on a home of its own. */
function freshCli(): { cli: Cli; home: string } {
  const home = join(root, `home-${homes++}`)
  const cli: Cli = (args, { env, ...given } = {}) =>
    runCli(['memory', ...args, '--home', home], { ...given, env: { PALIMPSEST_USER: 'ann', ...env } })
  return { cli, home }
}

async function idOf(cli: Cli): Promise<string> {
  return JSON.parse((await cli(['proposals', '--json'])).stdout).proposals[0].id
}

test('a proposal for a workspace file is listed with the others, and approving it writes the file', async () => {
  const { cli, home } = freshCli()
  const workspace = `${home}-workspace`
  const own = join(userFolder(home, 'bob'), 'workspace')
  for (const folder of [workspace, own]) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'SOUL.md'), 'Be brief.\n')
  }
  const soul = (folder: string) => readFileSync(join(folder, 'SOUL.md'), 'utf8')
  const env = { PALIMPSEST_WORKSPACE: workspace }
  const propose = ['propose', 'workspace:SOUL.md', '--old', 'brief', '--new', 'verbose', '-r', 'she likes to read']
  assert.equal((await cli(propose, { env })).code, 0)
  assert.match((await cli(['proposals'], { env })).stdout, /workspace:SOUL\.md +edit +cli/)
  const id = await idOf(cli)
  assert.match((await cli(['diff', id], { env })).stdout, /Be \[-brief-\]\{\+verbose\+\}\./)
  assert.equal((await cli(['approve', id], { env: { ...env, PALIMPSEST_AGENT: 'ralph' } })).code, 4)
  assert.equal(soul(workspace), 'Be brief.\n')
  assert.match((await cli(['approve', id], { env })).stdout, /^Approved: workspace:SOUL\.md /)
  assert.equal(soul(workspace), 'Be verbose.\n')
  assert.equal((await cli(['revert', id], { env })).code, 0)
  assert.equal(soul(workspace), 'Be brief.\n')
  // A guest of the server has a workspace of their own.
  await cli([...propose, '--user', 'bob'], { env })
  const guests = JSON.parse((await cli(['proposals', '--user', 'bob', '--json'], { env })).stdout).proposals
  await cli(['approve', guests[0].id, '--user', 'bob'], { env })
  assert.deepEqual([soul(workspace), soul(own)], ['Be brief.\n', 'Be verbose.\n'])
})

test('a block is written, proposed to, reviewed and approved, and has a history', async () => {
  const { cli } = freshCli()
  assert.equal((await cli(['set', 'goals', '--file', '-', '--title', 'My Goals'], { input: 'algebra\n' })).code, 0)
  assert.match((await cli(['list'])).stdout, /goals {2}My Goals {6}8/)
  const proposed = await cli([
    'propose',
    'goals',
    '--append',
    'geo\u200bmetry',
    '-r',
    'she asked',
    '--confidence',
    'high',
  ])
  assert.match(proposed.stdout, /^Proposed as \w+\n$/)
  assert.match((await cli(['proposals'])).stdout, /goals +append +cli +high .* open +she asked/)
  const id = await idOf(cli)
  const plain = await cli(['diff', id])
  assert.match(plain.stdout, /because she asked/)
  assert.match(plain.stdout, /hidden: U\+200B zero-width space, 1 time\n/)
  assert.match(plain.stdout, /\{\+geo⟨U\+200B⟩metry\+\}/)
  const colour = await cli(['diff', id], { env: { FORCE_COLOR: '1' } })
  assert.match(colour.stdout, /\u001b\[32mgeo⟨U\+200B⟩metry\u001b\[39m/)
  assert.match((await cli(['approve', id])).stdout, /^Approved: goals is at version/)
  assert.equal((await cli(['show', 'goals'])).stdout, 'algebra\ngeo⟨U+200B⟩metry\n')
  assert.match((await cli(['history', 'goals'])).stdout, new RegExp(`approve +user:ann +proposal ${id}`))
  assert.match((await cli(['revert', id])).stdout, /^Reverted/)
  assert.equal((await cli(['show', 'goals'])).stdout, 'algebra\n')
})

test('every option that proposes a change works', async () => {
  const { cli } = freshCli()
  const ways: [args: string[], body: string, kind: string][] = [
    [['--old', 'two', '--new', '2'], '# A\n\none\n\n# B\n\n2 two\n', 'edit'],
    [['--old', 'two', '--new', '2', '--all'], '# A\n\none\n\n# B\n\n2 2\n', 'edit'],
    [['--append', 'x'], '# A\n\none\n\n# B\n\ntwo two\nx', 'append'],
    [['--prepend', 'x'], 'x\n# A\n\none\n\n# B\n\ntwo two\n', 'prepend'],
    [['--section', '# A', '--body', 'x'], '# A\n\nx\n\n# B\n\ntwo two\n', 'section'],
    [['--body', 'x'], 'x', 'edit'],
  ]
  await cli(['set', 'b', '--body', '# A\n\none\n\n# B\n\ntwo two\n'])
  for (const [args, body, kind] of ways) {
    const { code, stdout, stderr } = await cli(['propose', 'b', '-r', 'why', '--json', ...args])
    if (args.length === 4 && args[0] === '--old') {
      assert.deepEqual([code, /MATCH_AMBIGUOUS/.test(stderr)], [4, true])
      continue
    }
    assert.equal(code, 0, stderr)
    const proposal = JSON.parse(stdout)
    assert.deepEqual([proposal.body, proposal.kind], [body, kind])
  }
  assert.equal(JSON.parse((await cli(['propose', 'fresh', '-r', 'why', '--body', 'x', '--json'])).stdout).kind, 'new')
})

test('a conflict message explains how to see both sides and how to settle it', async () => {
  const { cli } = freshCli()
  await cli(['set', 'b', '--body', 'one\n'])
  await cli(['propose', 'b', '--body', 'two\n', '-r', 'why'])
  const id = await idOf(cli)
  await cli(['set', 'b', '--body', 'three\n'])
  const refused = await cli(['approve', id])
  assert.equal(refused.code, 4)
  assert.match(refused.stderr, new RegExp(`palimpsest memory diff ${id}.*\\(CONFLICT\\)`))
  assert.match(
    (await cli(['diff', id])).stdout,
    /<<<<<<< now\nthree\n\|\|\|\|\|\|\| base\none\n=======\ntwo\n>>>>>>> proposed/,
  )
  assert.equal((await cli(['approve', id, '--body', 'two and three\n'])).code, 0)
  assert.equal((await cli(['show', 'b'])).stdout, 'two and three\n')
  assert.match((await cli(['approve', id])).stderr, /was approved .*\(PROPOSAL_NOT_OPEN\)/)
})

test('a decided proposal still shows its change, even after the block has changed', async () => {
  const { cli } = freshCli()
  await cli(['set', 'facts', '--body', '- likes math\n- lives in Rome'])
  await cli(['propose', 'facts', '--old', 'likes math', '--new', 'loves math', '-r', 'she said so'])
  const id = await idOf(cli)
  await cli(['approve', id])
  await cli(['set', 'facts', '--body', '- likes tea'])
  const { stdout } = await cli(['diff', id])
  assert.match(stdout, /- \[-likes-\]\{\+loves\+\} math/)
  assert.ok(!/conflict/.test(stdout))
})

test('a value may be a line of a Markdown list', async () => {
  const { cli } = freshCli()
  await cli(['set', 'facts', '--body', '- likes math'])
  const proposed = await cli(['propose', 'facts', '--append', '- has a cat', '-r', 'she said so'])
  assert.deepEqual([proposed.code, proposed.stderr], [0, ''])
  await cli(['approve', await idOf(cli)])
  assert.equal((await cli(['show', 'facts'])).stdout, '- likes math\n- has a cat\n')
})

test('a rejected proposal is kept with the reason, and versions are compared and restored', async () => {
  const { cli } = freshCli()
  await cli(['set', 'b', '--body', 'one'])
  await cli(['propose', 'b', '--body', 'two', '-r', 'why'])
  const id = await idOf(cli)
  assert.equal((await cli(['reject', id, '--why', 'wrong'])).code, 0)
  assert.match((await cli(['proposals', '--state', 'rejected'])).stdout, new RegExp(id))
  assert.match((await cli(['proposals'])).stderr, /There are none/)
  await cli(['set', 'b', '--body', 'three'])
  const { versions } = JSON.parse((await cli(['history', 'b', '--json'])).stdout)
  assert.equal((await cli(['diff', 'b', versions[1].id])).stdout, '[-one-]{+three+}\n')
  assert.equal((await cli(['show', 'b', '--at', versions[1].id])).stdout, 'one\n')
  assert.equal((await cli(['restore', 'b', versions[1].id])).code, 0)
  assert.equal((await cli(['show', 'b'])).stdout, 'one\n')
  assert.equal((await cli(['delete', 'b'])).code, 0)
  assert.equal((await cli(['show', 'b'])).code, 3)
})

test('an export can be imported into another home, for another user', async () => {
  const first = freshCli()
  await first.cli(['set', 'b', '--body', 'one'])
  await first.cli(['propose', 'b', '--body', 'two', '-r', 'why'])
  const path = join(root, 'export.json')
  writeFileSync(path, (await first.cli(['export'])).stdout)
  const second = freshCli()
  const imported = await second.cli(['import', path, '--user', 'bob'])
  assert.match(imported.stdout, /^1 block written, 0 unchanged, 1 proposal\n$/)
  assert.equal((await second.cli(['show', 'b', '--user', 'bob'])).stdout, 'one\n')
  writeFileSync(path, '{"format": "other"}')
  assert.match((await second.cli(['import', path])).stderr, /not an export of memory.*\(FORMAT_BROKEN\)/)
})

test('reading memory in a new home creates no file', async () => {
  const { cli, home } = freshCli()
  assert.match((await cli(['list'])).stderr, /ann has no memory blocks/)
  assert.equal((await cli(['show', 'b'])).code, 3)
  assert.equal(existsSync(home), false)
})

test('a block is checked against the schema in the home that it names', async () => {
  const { cli, home } = freshCli()
  await cli(['set', 'other', '--body', ''])
  const { mkdirSync } = await import('node:fs')
  mkdirSync(join(home, 'schemas'))
  writeFileSync(join(home, 'schemas', 'person.json'), '{"type": "object", "required": ["name"]}')
  assert.equal((await cli(['set', 'p', '--body', '{"name": "Ann"}', '--schema', 'person'])).code, 0)
  assert.match((await cli(['propose', 'p', '--body', '{}', '-r', 'why'])).stderr, /name.*\(SCHEMA_VIOLATION\)/)
})

test('blocks can be searched, and requests from two sessions are suggested', async () => {
  const { cli } = freshCli()
  await cli(['set', 'style', '--body', 'Writes tests first (valid until 2020-01-01)'])
  assert.match((await cli(['search', 'test', 'first'])).stdout, /^style +Style\n +style Style Writes tests first/)
  assert.match((await cli(['show', 'style'])).stderr, /STALE since 2020-01-01: Writes tests first/)
  assert.match((await cli(['suggest'])).stderr, /No request was repeated in two sessions/)
})

test('errors of the command line are explained', async () => {
  const { cli } = freshCli()
  assert.match(
    (await cli(['nonsense'])).stderr,
    /memory takes one of these actions: list search show .*\(INVALID_INPUT\)/,
  )
  assert.match((await cli(['show'])).stderr, /Usage: (?:npx )?palimpsest memory show LABEL/)
  assert.match((await cli(['set', 'b'])).stderr, /Use --body/)
  await cli(['set', 'b', '--body', 'x'])
  assert.match((await cli(['propose', 'b', '--body', 'y'])).stderr, /reasoning is required/)
  assert.match((await cli(['propose', 'b', '-r', 'why'])).stderr, /Give the change with/)
  assert.match(
    (await cli(['list', '--dolt', 'mysql://root@127.0.0.1:1/x'])).stderr,
    /palimpsest dolt start \(STORE_UNAVAILABLE\)/,
  )
})
