import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { storeOf } from '../../src/files/folder.ts'
import {
  addedLines,
  FILE_LIMIT,
  identityFile,
  initWorkspace,
  loadWorkspace,
  logDay,
  removeLine,
  saveFact,
} from '../../src/memory/workspace.ts'
import { workspaceTools } from '../../src/tools/workspace.ts'
import { makeSandbox, NOON } from '../tools/sandbox.ts'

async function makeWorkspace() {
  const { context, run } = await makeSandbox()
  const { folder } = storeOf(context.workspace ?? '')
  const workspace = { folder, now: () => NOON }
  const tool = (name: string, input: Record<string, unknown>) => {
    const found = workspaceTools.find(known => known.name === name)
    assert.ok(found, name)
    return run(found, input)
  }
  const get = (path: string) => readFileSync(join(folder, path), 'utf8')
  return { folder, workspace, tool, get }
}

const FILES = [
  'SOUL.md',
  'TOOLS.md',
  'AGENTS.md',
  'MEMORY.md',
  '.learnings/LEARNINGS.md',
  '.learnings/ERRORS.md',
  '.learnings/FEATURE_REQUESTS.md',
  'memory/2026-11-15.md',
]

test('missing files are created from templates that explain their use', async () => {
  const { workspace, get } = await makeWorkspace()
  assert.deepEqual(await initWorkspace(workspace), FILES)
  for (const path of FILES) {
    assert.match(get(path), /Update it with edit_file\(\) or append_to_file\(\) to persist important information\./)
  }
})

test('existing files are not changed', async () => {
  const { folder, workspace, get } = await makeWorkspace()
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'SOUL.md'), 'mine')
  assert.ok(!(await initWorkspace(workspace)).includes('SOUL.md'))
  assert.deepEqual(await initWorkspace(workspace), [])
  assert.equal(get('SOUL.md'), 'mine')
})

test('loaded text has its heading and the files in order', async () => {
  const { workspace } = await makeWorkspace()
  await saveFact(workspace, 'This project uses TypeScript')
  const text = await loadWorkspace(workspace)
  assert.ok(text.startsWith('═══ WORKSPACE KNOWLEDGE ═══\n'))
  assert.deepEqual(
    [...text.matchAll(/^--- (.*) ---$/gm)].map(match => match[1]),
    ['SOUL.md', 'TOOLS.md', 'AGENTS.md', 'MEMORY.md', 'memory/2026-11-15.md', '.learnings/LEARNINGS.md'],
  )
  assert.match(text, /^- This project uses TypeScript$/m)
})

test('the same files give the same text', async () => {
  const { workspace } = await makeWorkspace()
  assert.equal(await loadWorkspace(workspace), await loadWorkspace(workspace))
})

test("the last 20 lines of the learnings are loaded, and only today's log", async () => {
  const { folder, workspace, tool } = await makeWorkspace()
  for (let i = 1; i <= 30; i++) await tool('workspace_log_learning', { learning: `lesson ${i}` })
  writeFileSync(join(folder, 'memory-old.md'), '')
  await logDay({ ...workspace, now: () => NOON - 86_400_000 }, 'yesterday')
  await logDay(workspace, 'today')
  const text = await loadWorkspace(workspace)
  assert.deepEqual(
    [...text.matchAll(/lesson (\d+)/g)].map(match => Number(match[1])),
    Array.from({ length: 20 }, (_, i) => i + 11),
  )
  assert.match(text, /^- 12:05 today$/m)
  assert.doesNotMatch(text, /yesterday/)
})

test('a file that is too long is cut at a line and says so: rules keep their beginning, facts their end', async () => {
  const { folder, workspace } = await makeWorkspace()
  await initWorkspace(workspace)
  const lines = Array.from({ length: 2000 }, (_, i) => `line number ${i}`)
  for (const path of ['SOUL.md', 'MEMORY.md']) writeFileSync(join(folder, path), `${lines.join('\n')}\n`)
  const sections = (await loadWorkspace(workspace)).split(/^--- /m)
  const [soul = '', memory = ''] = ['SOUL.md', 'MEMORY.md'].map(
    path => sections.find(part => part.startsWith(path)) ?? '',
  )
  assert.match(soul, /^SOUL\.md ---\nline number 0\n[\s\S]*\n\[SOUL\.md is too long: the first \d+ of 2000 lines\]/)
  assert.match(
    memory,
    /^MEMORY\.md ---\n\[MEMORY\.md is too long: the last \d+ of 2000 lines\]\n[\s\S]*\nline number 1999\n/,
  )
  for (const part of [soul, memory]) assert.ok(part.length < FILE_LIMIT + 200)
})

test('a file at the limit is not cut, and one more character cuts a line', async () => {
  const { folder, workspace } = await makeWorkspace()
  await initWorkspace(workspace)
  const lines = Array.from({ length: FILE_LIMIT / 100 }, (_, i) => `${i} `.padEnd(98, 'x').padEnd(99, 'y'))
  writeFileSync(join(folder, 'SOUL.md'), `${lines.join('\n')}\n`)
  const fitting = await loadWorkspace(workspace)
  assert.ok(fitting.includes(lines.join('\n')) && !fitting.includes('too long'))
  writeFileSync(join(folder, 'SOUL.md'), `${lines.join('\n')}y\n`)
  assert.match(await loadWorkspace(workspace), /\[SOUL\.md is too long: the first 119 of 120 lines\]/)
})

test('each tool adds one line to its file', async () => {
  const { tool, get } = await makeWorkspace()
  assert.equal((await tool('workspace_save_fact', { fact: 'The API is in\n src/api' })).text, 'Saved in MEMORY.md')
  await tool('workspace_log_learning', { learning: 'Run tests first' })
  await tool('workspace_log_error', { error: 'ENOSPC', solution: 'clear the cache' })
  await tool('workspace_request_feature', { request: 'a dark mode' })
  await tool('workspace_daily_log', { entry: 'Finished the parser' })
  assert.match(get('MEMORY.md'), /^# Memory\n[\s\S]*\n- The API is in src\/api\n$/)
  assert.match(get('.learnings/LEARNINGS.md'), /\n- 2026-11-15: Run tests first\n$/)
  assert.match(get('.learnings/ERRORS.md'), /\n- 2026-11-15: ENOSPC → clear the cache\n$/)
  assert.match(get('.learnings/FEATURE_REQUESTS.md'), /\n- 2026-11-15: a dark mode\n$/)
  assert.match(get('memory/2026-11-15.md'), /^# 2026-11-15\n[\s\S]*\n- 12:05 Finished the parser\n$/)
})

test('an existing line is not added twice', async () => {
  const { tool, get } = await makeWorkspace()
  await tool('workspace_save_fact', { fact: 'This project uses TypeScript' })
  const before = get('MEMORY.md')
  for (const fact of [
    'This project uses TypeScript',
    ' this project  uses typescript. ',
    '- This project uses TypeScript',
  ]) {
    assert.equal((await tool('workspace_save_fact', { fact })).text, 'Already in MEMORY.md; nothing was added')
  }
  assert.equal(get('MEMORY.md'), before)
  await tool('workspace_save_fact', { fact: 'This project uses TypeScript 7' })
  assert.notEqual(get('MEMORY.md'), before)
})

test('an entry after a last line without a line break is on its own line', async () => {
  const { folder, workspace, tool, get } = await makeWorkspace()
  await initWorkspace(workspace)
  writeFileSync(join(folder, 'MEMORY.md'), '- one')
  await tool('workspace_save_fact', { fact: 'two' })
  assert.equal(get('MEMORY.md'), '- one\n- two\n')
})

test('an empty entry is refused', async () => {
  const { tool } = await makeWorkspace()
  assert.deepEqual(await tool('workspace_save_fact', { fact: ' \n ' }), { text: 'fact is empty.', isError: true })
})

test('processes that log at once lose no line', { timeout: 600_000 }, async () => {
  const { folder, get } = await makeWorkspace()
  const script = `
    import { logDay } from ${JSON.stringify(join(import.meta.dirname, '../../src/memory/workspace.ts'))}
    const [folder, name] = process.argv.slice(1)
    for (let i = 0; i < 40; i++) await logDay({ folder, now: () => ${NOON} }, name + i)`
  const names = ['a', 'b', 'c', 'd']
  const codes = names.map(
    name =>
      new Promise(resolve =>
        spawn(process.execPath, ['--input-type=module', '-e', script, folder, name], { stdio: 'inherit' }).on(
          'close',
          resolve,
        ),
      ),
  )
  assert.deepEqual(await Promise.all(codes), [0, 0, 0, 0])
  const logged = [...get('memory/2026-11-15.md').matchAll(/^- 12:05 (\w+)$/gm)].map(match => match[1])
  assert.deepEqual(logged.sort(), names.flatMap(name => Array.from({ length: 40 }, (_, i) => `${name}${i}`)).sort())
})

test("an agent's line has its source, appears in the prompt without it, and can be removed", async () => {
  const { workspace, folder, get } = await makeWorkspace()
  const source = { session: 'fix-login', entry: 12 }
  await saveFact({ ...workspace, source }, 'Tea is at four')
  await saveFact(workspace, 'Mine')
  assert.equal((await saveFact({ ...workspace, source: { session: 'b', entry: 1 } }, 'tea is at four.')).added, false)
  assert.match(await loadWorkspace(workspace), /^- Tea is at four$/m)
  const [line, ...rest] = await addedLines({ folder })
  assert.deepEqual(rest, [])
  assert.deepEqual({ ...line, id: '' }, { id: '', path: 'MEMORY.md', text: 'Tea is at four', ...source })
  const before = get('MEMORY.md')
  await removeLine({ folder }, line!.id)
  assert.equal(get('MEMORY.md'), before.replace(/^- Tea.*\n/m, ''))
  await assert.rejects(removeLine({ folder }, line!.id), { code: 'ENTRY_NOT_FOUND' })
})

test("three files define the agent's identity, in any letter case, and only at the top", () => {
  for (const path of ['SOUL.md', 'TOOLS.md', 'AGENTS.md']) assert.equal(identityFile(path), path)
  assert.equal(identityFile('soul.MD'), 'SOUL.md')
  for (const path of ['MEMORY.md', 'notes/SOUL.md', 'SOUL.md.bak', ''])
    assert.equal(identityFile(path), undefined, path)
})
