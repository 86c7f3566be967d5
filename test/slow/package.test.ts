/** The package as others get it: packed, installed into an empty folder, imported, typed, and run. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { OLDEST_NODE } from '../../scripts/optional-parts.ts'
import { ROOT, saidUntil } from '../e2e/run-cli.ts'
import { readmeProgram } from '../readme.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-package-'))
after(() => rmSync(folder, { recursive: true, force: true }))

type Ran = { code: number; stdout: string; stderr: string }

/** Runs a program with a Node first on the path; by default this one. */
function run(program: string, args: string[], cwd: string, node = process.execPath): Promise<Ran> {
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH']}` }
  return new Promise(resolve => {
    execFile(program, args, { cwd, env, maxBuffer: 1e8 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr })
    })
  })
}

/** Messages of npm when the network is at fault. */
const OFFLINE = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED|E429|E50\d/

test('the package can be installed in an empty folder and runs, with its types and its program', async t => {
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], ROOT)
  assert.equal(packed.code, 0, `${packed.stdout}${packed.stderr}`)
  const tarball = readdirSync(folder).find(name => name.endsWith('.tgz'))
  assert.ok(tarball)
  const project = join(folder, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }')
  const flags = ['install', '--prefer-offline', '--no-audit', '--no-fund', `../${tarball}`]
  const installed = await run('npm', flags, project)
  if (installed.code !== 0 && OFFLINE.test(installed.stderr)) {
    t.skip('no registry can be reached, so the dependencies cannot be installed')
    return
  }
  assert.equal(installed.code, 0, installed.stderr)

  await t.test('a program of ten lines runs', async () => {
    writeFileSync(join(project, 'program.ts'), readmeProgram())
    const { code, stdout, stderr } = await run('node', ['program.ts'], project)
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /tokens saved/)
  })

  await t.test('its types are those of the library', async () => {
    const wrong = '// @ts-expect-error: a view has messages, not a number\nconst n: number = await session.view()\n'
    const other = "import { readTranscript } from 'palimpsest/replay'\nconsole.log(readTranscript, n)\n"
    writeFileSync(join(project, 'typed.ts'), `${readmeProgram()}\n${wrong}${other}`)
    const flags = '--noEmit --strict --module nodenext --target es2024 --lib es2024,dom --skipLibCheck --types'.split(
      ' ',
    )
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const { stdout } = await run('node', [tsc, ...flags, '', 'typed.ts'], project)
    assert.equal(stdout, '')
  })

  await t.test('the program palimpsest is installed', async () => {
    const { code, stdout } = await run('npx', ['palimpsest', '--help'], project)
    assert.equal(code, 0)
    assert.match(stdout, /Usage: palimpsest COMMAND/)
    const sample = await run(join(project, 'node_modules/.bin/palimpsest'), ['sample'], project)
    assert.deepEqual([sample.code, sample.stderr], [0, ''])
  })

  const old = join(ROOT, OLDEST_NODE)
  const skip = !existsSync(old) && 'the oldest Node is not here (npm run get:node22)'
  await t.test('everything that the oldest Node may lack works on it', { skip }, async () => {
    const { engines } = JSON.parse(readFileSync(join(project, 'node_modules/palimpsest/package.json'), 'utf8'))
    const { stdout: version } = await run(old, ['--version'], project)
    assert.equal(`>=${version.trim().slice(1)}`, `${engines.node}.0`)
    const palimpsest = async (...args: string[]) => {
      const home = ['--home', join(project, 'old-home')]
      const ran = await run(join(project, 'node_modules/.bin/palimpsest'), [...args, ...home], project, old)
      assert.deepEqual([ran.code, ran.stderr], [0, ''], args.join(' '))
      return ran.stdout
    }
    await palimpsest('import', join(ROOT, 'sample/session.jsonl'), '--as', 'old')
    assert.match(await palimpsest('verify'), /^whole +old /)
    assert.match(await palimpsest('sessions'), /old/)
    assert.match(await palimpsest('recall', 'Sunday'), /old #\d+/)
    assert.match(await palimpsest('backup', join(project, 'copy')), /1 session, .*verified/)
  })

  await t.test('the server runs on the oldest Node', { skip }, async () => {
    const program = join(project, 'node_modules/palimpsest/bin/palimpsest.js')
    const args = [program, 'serve', '--sample', '--port', '0', '--home', join(project, 'served')]
    const server = spawn(old, args, { cwd: project, stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = once(server, 'exit')
    let complaints = ''
    server.stderr.on('data', (chunk: Buffer) => (complaints += chunk))
    try {
      const printed = await saidUntil(server, /http:\S+/)
      const [url] = /http:\/\/[^\s/]+/.exec(printed) ?? assert.fail(`${printed}${complaints}`)
      const { sessions } = (await (await fetch(`${url}/sessions`)).json()) as { sessions: { id: string }[] }
      assert.deepEqual(
        sessions.map(({ id }) => id),
        ['sample'],
      )
      assert.match(await (await fetch(url)).text(), /<title>Palimpsest/)
      assert.equal(complaints, '')
    } finally {
      server.kill()
      await ended
    }
  })
})

test('the program of the README runs in a checkout after npm ci', async () => {
  const checkout = join(folder, 'checkout')
  mkdirSync(checkout)
  for (const name of ['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json'])
    cpSync(join(ROOT, name), join(checkout, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'), 'junction')
  const prepared = await run('npm', ['run', 'prepare'], checkout)
  assert.equal(prepared.code, 0, prepared.stdout)
  writeFileSync(join(checkout, 'try.ts'), readmeProgram())
  const { code, stdout, stderr } = await run('node', ['try.ts'], checkout)
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /tokens saved/)
})

describe('the package', () => {
  const files = async (): Promise<string[]> => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], ROOT)
    return JSON.parse(stdout)[0].files.map((file: { path: string }) => file.path)
  }

  test('contains no sources, tests or traces of this machine', async () => {
    const ours =
      /^(?:bin|dist|docs|personas|plugins|sample|schema)\/|^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md)$/
    const packed = await files()
    assert.ok(packed.includes('dist/cli.js'))
    assert.deepEqual(
      packed.filter(path => !ours.test(path)),
      [],
    )
  })

  test('says in one line what to do on a Node that is too old', async () => {
    const old = "Object.defineProperty(process.versions, 'node', { value: '20.1.0' }); require('./bin/palimpsest.js')"
    const { code, stdout, stderr } = await run('node', ['-e', old], ROOT)
    assert.deepEqual([code, stdout], [8, ''])
    assert.match(stderr, /^palimpsest: Node 20\.1\.0 is too old; install Node 24 or newer[^\n]*\(UNSUPPORTED\)\n$/)
  })

  test('has a program that any old Node can parse', () => {
    const code = readFileSync(join(ROOT, 'bin/palimpsest.js'), 'utf8')
    assert.doesNotMatch(code, /=>|`|\b(?:const|let|import|export|async|await)\b(?!.*\*)/)
  })
})
