/**
 * The steps of the Dockerfile, without Docker: each stage has an empty folder as its root, COPY copies files from Git,
 * RUN runs with that root's paths, and the command of the last stage serves.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { freePort } from '../../scripts/free-port.ts'
import { ROOT, saidUntil } from '../e2e/run-cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-docker-'))
after(() => rmSync(folder, { recursive: true, force: true }))

type Stage = { name: string; steps: [instruction: string, rest: string][] }

function stagesOf(text: string): Stage[] {
  const stages: Stage[] = []
  for (const line of text.replaceAll('\\\n', ' ').split('\n')) {
    const [, instruction, rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    if (!instruction) continue
    if (instruction === 'FROM') stages.push({ name: / AS (\w+)$/.exec(rest)?.[1] ?? '', steps: [] })
    else stages.at(-1)!.steps.push([instruction, rest])
  }
  return stages
}

/** A root has its own /usr/local, where npm installs global packages. */
class Container {
  readonly root: string
  readonly env: Record<string, string | undefined>
  cwd: string

  constructor(name: string) {
    this.root = this.cwd = join(folder, name)
    const local = join(this.root, 'usr/local')
    mkdirSync(local, { recursive: true })
    mkdirSync(join(this.root, 'opt'))
    const PATH = [join(local, 'bin'), dirname(process.execPath), process.env['PATH']].join(':')
    this.env = { ...process.env, PATH, NPM_CONFIG_PREFIX: local, NPM_CONFIG_PREFER_OFFLINE: 'true' }
  }

  /** Paths of the image, below this root. */
  at(text: string): string {
    return text.replaceAll(/(?<=^|[\s"'=])\/(?=build|opt|data)/g, `${this.root}/`)
  }

  run(command: string): void {
    // The files belong to the user who runs the tests; the user of the image does not exist here.
    execFileSync('sh', ['-c', this.at(command).replace(/ && chown \S+ \S+/, '')], {
      cwd: this.cwd,
      env: this.env,
      stdio: 'pipe',
    })
  }
}

/** Runs a step; returns the last CMD. */
function follow(
  [instruction, rest]: Stage['steps'][number],
  on: Container,
  others: Map<string, Container>,
): string[] | undefined {
  switch (instruction) {
    case 'WORKDIR':
      on.cwd = on.at(rest)
      mkdirSync(on.cwd, { recursive: true })
      return
    case 'COPY': {
      const [, stage, source = '', target = ''] = /^(?:--from=(\w+) )?(\S+) (\S+)$/.exec(rest)!
      if (stage === undefined) {
        assert.deepEqual([source, target], ['.', '.'])
        for (const file of execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
          cwd: ROOT,
          encoding: 'utf8',
        })
          .trim()
          .split('\n'))
          cpSync(join(ROOT, file), join(on.cwd, file))
        return
      }
      const [found, ...more] = globSync(others.get(stage)!.at(source))
      assert.ok(found && more.length === 0, source)
      cpSync(found, on.at(target))
      return
    }
    case 'RUN':
      on.run(rest)
      return
    case 'ENV': {
      const [name = '', value = ''] = rest.split('=')
      on.env[name] = on.at(value)
      return
    }
    case 'CMD':
      return JSON.parse(rest)
    default:
      assert.ok(['USER', 'VOLUME', 'EXPOSE', 'HEALTHCHECK'].includes(instruction), instruction)
  }
}

test('the steps of the Dockerfile produce a healthy server', async () => {
  const containers = new Map<string, Container>()
  let command: string[] = []
  for (const { name, steps } of stagesOf(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))) {
    const container = new Container(name || 'last')
    containers.set(name, container)
    for (const step of steps) command = follow(step, container, containers) ?? command
  }
  const { env, root } = containers.get('')!
  const port = String(await freePort())
  const [program = '', ...args] = command.map(word => (word === '8787' ? port : word))
  const server = spawn(join(root, 'usr/local/bin', program), args, {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(server, 'exit')
  try {
    const said = await saidUntil(server, /token /)
    assert.match(said, /web UI {3}open/)
    assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
    assert.equal((await fetch(`http://127.0.0.1:${port}/sessions`)).status, 401)
  } finally {
    server.kill()
    await ended
  }
})
