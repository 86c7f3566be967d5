import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runCli } from '../../cli.ts'

const base = mkdtempSync(join(tmpdir(), 'palimpsest-cli-workspace-'))
process.env['PALIMPSEST_LOCKS'] ??= join(base, 'locks')
after(() => rmSync(base, { recursive: true, force: true }))

const run = (folder: string, ...argv: string[]) => runCli(argv, { env: { PALIMPSEST_WORKSPACE: folder } })

test('path prints the folder and creates nothing', async () => {
  const folder = join(base, 'path')
  assert.deepEqual(await run(folder, 'workspace', 'path'), { code: 0, stdout: `${folder}\n`, stderr: '' })
  const other = join(base, 'other')
  assert.equal((await run(folder, 'workspace', 'path', '--dir', other)).stdout, `${other}\n`)
  assert.ok(!existsSync(folder) && !existsSync(other))
})

test('init creates missing files and leaves the rest unchanged', async () => {
  const folder = join(base, 'init')
  const first = await run(folder, 'workspace', 'init')
  assert.match(first.stdout, /^SOUL\.md\nTOOLS\.md\nAGENTS\.md\nMEMORY\.md\n/)
  await writeFile(join(folder, 'SOUL.md'), 'mine\n')
  const { stdout, stderr } = await run(folder, 'workspace', 'init')
  assert.equal(stdout, '')
  assert.match(stderr, /All files already exist/)
  assert.equal(await readFile(join(folder, 'SOUL.md'), 'utf8'), 'mine\n')
})

test('show prints the text that a session gets, with control characters made visible', async () => {
  const folder = join(base, 'show')
  await run(folder, 'workspace', 'init')
  await writeFile(join(folder, 'SOUL.md'), 'be \u001b[31mkind\n')
  const { code, stdout } = await run(folder, 'workspace', 'show')
  assert.equal(code, 0)
  assert.match(stdout, /^═══ WORKSPACE KNOWLEDGE ═══\n\n--- SOUL\.md ---\nbe ␛\[31mkind\n/)
  const { text } = JSON.parse((await run(folder, 'workspace', 'show', '--json')).stdout)
  assert.match(text, /be \u001b\[31mkind/)
})

test('an unknown subcommand is refused with the known ones', async () => {
  const { code, stderr } = await run(join(base, 'no'), 'workspace', 'delete')
  assert.equal(code, 2)
  assert.match(stderr, /Use workspace init, show, path, added or undo/)
})
