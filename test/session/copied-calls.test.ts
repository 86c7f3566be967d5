/** Agents copy the calls of a session into the file of its fork. Each call counts once, where it was made. */
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCli } from '../cli.ts'

type Line = Record<string, unknown>
/** The files of one project by session, as an agent writes them. */
type Files = Record<string, Line[]>

const MINUTE = 60_000
const START = Date.UTC(2026, 4, 1, 9)
const timeAt = (minute: number) => new Date(START + minute * MINUTE).toISOString()

/** One turn of Claude Code: a prompt and its answer. */
function turn(sessionId: string, minute: number, asked: string): Line[] {
  const line = { sessionId, isSidechain: false, cwd: '/home/ada/harbour', timestamp: timeAt(minute) }
  const [uuid, answer] = [`u${minute}`, `a${minute}`]
  const usage = { input_tokens: 1000, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 10 }
  const content = [{ type: 'text', text: `I did: ${asked}` }]
  const message = { id: `msg_${minute}`, role: 'assistant', model: 'claude-sonnet-4-5', content, usage }
  return [
    { ...line, type: 'user', uuid, parentUuid: null, message: { role: 'user', content: asked } },
    { ...line, type: 'assistant', uuid: answer, parentUuid: uuid, requestId: `req_${minute}`, message },
  ]
}

/** The lines of a session, as its fork has them. */
function copied(lines: Line[], sessionId: string, added: (line: Line) => Line = () => ({})): Line[] {
  return lines.filter(({ type }) => type !== 'queue-operation').map(line => ({ ...line, sessionId, ...added(line) }))
}

function queued(sessionId: string, minute: number): Line {
  return { type: 'queue-operation', operation: 'enqueue', sessionId, timestamp: timeAt(minute) }
}

const first = [queued('origin', 0), ...turn('origin', 1, 'Build the harbour'), ...turn('origin', 2, 'Add a crane')]

/** In each, session `origin` made calls 1 and 2, and its fork call 3; if the format can tell, the origin went on. */
const SHAPES: Record<string, { files: Files; calls: Record<string, number> }> = {
  '--fork-session': {
    files: {
      origin: [...first, ...turn('origin', 9, 'Paint it')],
      branch: [queued('branch', 3), ...copied(first, 'branch'), ...turn('branch', 4, 'Use steel instead')],
    },
    calls: { origin: 3, branch: 1 },
  },
  '/branch': {
    files: {
      origin: [...first, ...turn('origin', 9, 'Paint it')],
      branch: [
        ...copied(first, 'branch', ({ uuid }) => ({ forkedFrom: { sessionId: 'origin', messageUuid: uuid } })),
        ...turn('branch', 4, 'Use steel instead'),
      ],
    },
    calls: { origin: 3, branch: 1 },
  },
  'a fork of a fork that went on': {
    files: {
      origin: first,
      branch: [
        queued('branch', 3),
        ...copied(first, 'branch'),
        ...turn('branch', 4, 'Use steel instead'),
        ...turn('branch', 20, 'And rivets'),
      ],
      twig: [
        queued('twig', 5),
        ...copied([...first, ...turn('branch', 4, 'Use steel instead')], 'twig'),
        ...turn('twig', 6, 'Use wood instead'),
      ],
    },
    calls: { origin: 2, branch: 2, twig: 1 },
  },
  '--resume of old versions, without a mark': {
    files: { origin: first.slice(1), branch: [...copied(first, 'branch'), ...turn('branch', 4, 'Use steel instead')] },
    calls: { origin: 2, branch: 1 },
  },
  'a fork of pi': {
    files: {
      origin: [piHeader('origin', 0), ...piTurn(1), ...piTurn(2), ...piTurn(9)],
      branch: [piHeader('branch', 3), ...piTurn(1), ...piTurn(2), ...piTurn(4)],
    },
    calls: { origin: 3, branch: 1 },
  },
}

function piHeader(id: string, minute: number): Line {
  return { type: 'session', version: 3, id, timestamp: timeAt(minute), cwd: '/home/ada/harbour' }
}

function piTurn(minute: number): Line[] {
  const timestamp = timeAt(minute)
  const usage = { input: 1000, output: 10, cacheRead: 0, cacheWrite: 0 }
  const said = { content: [{ type: 'text', text: `Step ${minute}` }] }
  const model = { model: 'gpt-5.5', usage, responseId: `resp_${minute}` }
  return [
    { type: 'message', id: `u${minute}`, timestamp, message: { role: 'user', ...said } },
    { type: 'message', id: `a${minute}`, timestamp, message: { role: 'assistant', ...said, ...model } },
  ]
}

function written(files: Files): string {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-forks-'))
  for (const [name, lines] of Object.entries(files))
    writeFileSync(join(folder, `${name}.jsonl`), lines.map(line => JSON.stringify(line)).join('\n'))
  return folder
}

type Reported = { id: string; calls: number; copiedCalls: number; billedUsd: number; parent?: string; title: string }
type Counted = { session: string; calls: number; cost: number }

async function jsonOf<T>(args: string[], home?: string): Promise<T> {
  const env: Record<string, string> = home === undefined ? {} : { PALIMPSEST_HOME: home }
  const { code, stdout, stderr } = await runCli([...args, '--json'], { env })
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as T
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

for (const [shape, { files, calls }] of Object.entries(SHAPES)) {
  test(`report counts a call of ${shape} once, in the session that made it`, async () => {
    type Answer = { totals: { calls: number; billedUsd: number }; sessions: Reported[] }
    const { totals, sessions } = await jsonOf<Answer>(['report', written(files)])
    assert.deepEqual(Object.fromEntries(sessions.map(one => [one.id, one.calls])), calls)
    assert.equal(totals.calls, sum(Object.values(calls)))
    const alone = await jsonOf<Answer>(['report', join(written(files), 'branch.jsonl')])
    assert.ok(alone.totals.calls > calls['branch']!, 'without the origin, the copy is all there is of its calls')
    assert.equal(sessions.find(({ id }) => id === 'branch')?.parent, 'origin')
    assert.ok(sessions.find(({ id }) => id === 'branch')!.copiedCalls > 0)
  })

  test(`an import counts a call of ${shape} once, whichever file comes first`, async () => {
    const folder = written(files)
    const names = Object.keys(files)
    for (const order of [names, names.toReversed()]) {
      const home = mkdtempSync(join(tmpdir(), 'palimpsest-home-'))
      for (const name of order) {
        await jsonOf(['import', join(folder, `${name}.jsonl`)], home)
        await jsonOf(['stats'], home)
      }
      const { sessions, all } = await jsonOf<{ sessions: Counted[]; all: Counted }>(['stats'], home)
      assert.deepEqual(Object.fromEntries(sessions.map(one => [one.session, one.calls])), calls, order.join(', '))
      assert.equal(all.calls, sum(Object.values(calls)))
    }
  })
}

test('a fork has the title of its own first request, and names the session where its calls count', async () => {
  const folder = written(SHAPES['--fork-session']!.files)
  const { sessions } = await jsonOf<{ sessions: Reported[] }>(['report', folder])
  assert.deepEqual(sessions.map(({ title }) => title).toSorted(), ['Build the harbour', 'Use steel instead'])
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-home-'))
  await jsonOf(['import', folder], home)
  const { stderr } = await runCli(['why', 'branch'], { env: { PALIMPSEST_HOME: home } })
  assert.match(stderr, /2 calls at the beginning came from another session, where they are counted/)
})
