import assert from 'node:assert/strict'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { codingSession } from '../../bench/session.ts'
import type { Message } from '../../src/model/types.ts'
import { runCli } from '../cli.ts'

const folder = await mkdtemp(join(tmpdir(), 'palimpsest-replay-'))

/** A session in the format of pi. */
async function writeTranscript(name: string, turns: number): Promise<string> {
  const path = join(folder, name)
  const lines: unknown[] = [{ type: 'session', version: 3, id: `session-${turns}`, timestamp: iso(0), cwd: '/repo' }]
  let number = 0
  for (const turn of codingSession({ turns, seed: 7, files: 12 }))
    for (const message of turn) lines.push(toPi(message, number++))
  await writeFile(path, `${lines.map(line => JSON.stringify(line)).join('\n')}\n`)
  return path
}

const iso = (at = 0) => new Date(at).toISOString()

function toPi({ role, parts, at }: Message, number: number) {
  const content = parts.map(part => {
    if (part.type === 'tool-call') return { type: 'toolCall', id: part.id, name: part.name, arguments: part.input }
    if (part.type === 'tool-result') return { type: 'text', text: String(part.output) }
    return { type: 'text', text: 'text' in part ? part.text : '' }
  })
  const [first] = parts
  const message =
    first?.type === 'tool-result'
      ? { role: 'toolResult', toolCallId: first.id, toolName: first.name, content, isError: false }
      : { role: role === 'system' ? 'user' : role, content }
  return {
    type: 'message',
    id: `m${number}`,
    parentId: number === 0 ? null : `m${number - 1}`,
    timestamp: iso(at),
    message,
  }
}

describe('palimpsest replay', () => {
  test('compares policies in a table, followed by the largest decisions', async () => {
    const file = await writeTranscript('table.jsonl', 60)
    const { code, stdout } = await runCli(['replay', file, '--policy', 'none,stale-output,thrifty'])
    assert.equal(code, 0)
    assert.match(stdout, /1 session, 60 calls/)
    assert.match(
      stdout,
      /POLICY +TOKENS SENT +SHARE +COST +DOLLARS +STILL VISIBLE +WITH FETCHING +WORST +CACHE LOST +PEAK/,
    )
    assert.match(stdout, /^none +[\d,]+ +1\.000 +1\.000 +\d+\.\d\d +1\.000 +1\.000 +1\.00 +0/m)
    assert.match(stdout, /^thrifty +[\d,]+ +0\..* [▁▂▃▄▅▆▇█]{24}$/m)
    assert.match(stdout.trimEnd().split('\n').at(-1)!, /^thrifty /, 'the table comes last')
    assert.match(stdout, /^thrifty: edits at \d+ calls/m)
    assert.match(stdout, /call \d+: shortened 1 new part, .* tokens: they were never sent, so it costs nothing/)
  })

  test('gives the numbers of every call as JSON, and nothing else on stdout', async () => {
    const file = await writeTranscript('json.jsonl', 30)
    const { stdout, stderr } = await runCli(['replay', file, '--policy', 'thrifty', '--model', 'gpt-5', '--json'])
    const { rows, sessions, model } = JSON.parse(stdout)
    assert.equal(stderr, '')
    assert.equal(model, 'gpt-5')
    assert.equal(rows[0].policy, 'thrifty')
    assert.equal(sessions[0].policies[0].perCall.length, 30)
  })

  test('plots the calls', async () => {
    const file = await writeTranscript('plot.jsonl', 30)
    const svg = join(folder, 'plot.svg')
    const { stderr } = await runCli(['replay', file, '--policy', 'none,thrifty', '--svg', svg])
    assert.match(stderr, /plot\.svg shows session-30/)
    assert.match(await readFile(svg, 'utf8'), /^<svg [\s\S]*thrifty[\s\S]*<\/svg>\n$/)
  })

  test('shows a progress bar on a terminal, and removes it', async () => {
    const file = await writeTranscript('bar.jsonl', 3)
    const { stderr } = await runCli(['replay', file], { isTTY: true })
    assert.match(stderr, /█/)
    assert.ok(stderr.endsWith('\r\u001b[2K'))
  })

  test('reports an unknown policy before reading transcripts', async () => {
    const file = await writeTranscript('unknown.jsonl', 3)
    const { code, stderr } = await runCli(['replay', file, '--policy', 'thrfty'])
    assert.equal(code, 2)
    assert.match(stderr, /There is no preset "thrfty"\. Known presets: none, .*thrifty/)
  })

  test('accepts folders, and skips files that are not transcripts', async () => {
    const { code, stdout } = await runCli(['replay', folder, '--min-calls', '60'])
    assert.equal(code, 0)
    assert.match(stdout, /1 session, 60 calls/)
  })

  test('reports that no session is long enough', async () => {
    const { code, stderr } = await runCli(['replay', folder, '--min-calls', '9999'])
    assert.equal(code, 2)
    assert.match(stderr, /There is no session with at least 9,999 calls/)
  })

  test('refuses a file that is not a transcript', async () => {
    assert.equal((await runCli(['replay', join(folder, 'absent.jsonl')])).code, 3)
  })
})

describe('palimpsest import', () => {
  const home = join(folder, 'home')

  test('adds a session to the ledger, and a second import adds nothing', async () => {
    const file = await writeTranscript('import.jsonl', 20)
    const first = await runCli(['import', file, '--as', 'fix', '--home', home])
    assert.match(first.stdout, /^fix {2}pi, \d+ messages: \d+ messages added$/m)
    const again = await runCli(['import', file, '--as', 'fix', '--home', home])
    assert.match(again.stdout, /nothing new/)
    const { sessions } = JSON.parse((await runCli(['sessions', '--json', '--home', home])).stdout)
    assert.deepEqual(
      sessions.map(({ id }: { id: string }) => id),
      ['fix'],
    )
  })

  test('adds the new messages of a transcript that has grown', async () => {
    const file = await writeTranscript('grown.jsonl', 10)
    const whole = await readFile(file, 'utf8')
    const lines = whole.split('\n')
    await writeFile(file, `${lines.slice(0, 12).join('\n')}\n`)
    await runCli(['import', file, '--as', 'grown', '--home', home])
    await writeFile(file, whole)
    const { stdout } = await runCli(['import', file, '--as', 'grown', '--home', home, '--json'])
    const [session] = JSON.parse(stdout).sessions
    assert.ok(session.added > 0 && session.added < session.messages)
    assert.equal((await runCli(['verify', 'grown', '--home', home])).code, 0)
  })

  test('gives the sessions of one file the same names at each import', async () => {
    const said = (uuid: string, content: string, more = {}) => {
      const where = { uuid, parentUuid: null, sessionId: 'cc', isSidechain: false, ...more }
      return { type: 'user', ...where, message: { role: 'user', content } }
    }
    const lines: unknown[] = [
      said('1', 'go'),
      said('2', 'look around', { isSidechain: true, agentId: 'scout' }),
      said('3', 'so far', { isCompactSummary: true }),
      said('4', 'look again', { isSidechain: true, agentId: 'scout' }),
    ]
    const later = [said('5', 'further', { isCompactSummary: true }), said('6', 'on')]
    const file = join(folder, 'several.jsonl')
    const importing = async (all: unknown[]) => {
      await writeFile(file, all.map(line => `${JSON.stringify(line)}\n`).join(''))
      const { stdout } = await runCli(['import', file, '--as', 'several', '--home', home, '--json'])
      return JSON.parse(stdout).sessions.map(({ session, messages, added }: Record<string, unknown>) => {
        return { session, messages, added }
      })
    }
    assert.deepEqual(await importing(lines), [
      { session: 'several', messages: 1, added: 1 },
      { session: 'several-2', messages: 2, added: 2 },
      { session: 'several-3', messages: 1, added: 1 },
    ])
    assert.deepEqual(await importing([...lines, ...later]), [
      { session: 'several', messages: 1, added: 0 },
      { session: 'several-2', messages: 2, added: 0 },
      { session: 'several-3', messages: 1, added: 0 },
      { session: 'several-4', messages: 2, added: 2 },
    ])
  })

  test('does not change a session with another conversation', async () => {
    const file = await writeTranscript('other.jsonl', 5)
    const text = (await readFile(file, 'utf8')).replaceAll('Please fix', 'Please break')
    await writeFile(file, text)
    const { code, stderr } = await runCli(['import', file, '--as', 'fix', '--home', home])
    assert.equal(code, 4)
    assert.match(stderr, /Session fix has a different conversation/)
  })

  test('reports a broken line with its number, and imports the rest', async () => {
    const file = await writeTranscript('broken.jsonl', 5)
    await writeFile(file, `${await readFile(file, 'utf8')}{"type":"mess\n`)
    const { code, stdout, stderr } = await runCli(['import', file, '--as', 'broken', '--home', home])
    assert.equal(code, 0)
    assert.match(stdout, /messages added/)
    assert.match(stderr, /broken\.jsonl, line \d+: /)
  })
})

describe('palimpsest why', () => {
  test('explains the costs of a transcript, call by call, and the same for its import', async () => {
    const file = await writeTranscript('why.jsonl', 30)
    const { code, stdout, stderr } = await runCli(['why', file])
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^30 calls, 30 of them estimated: \$\d/)
    assert.match(stdout, /Where the money went, as rent/)
    assert.match(stdout, /^Free edits: \d+ edits? without a cache miss/m)
    const found = JSON.parse((await runCli(['why', file, '--json'])).stdout)
    assert.equal(found.calls.length, 30)
    const home = ['--home', join(folder, 'why')]
    await runCli(['import', file, '--as', 'whied', ...home])
    const imported = JSON.parse((await runCli(['why', 'whied', '--json', ...home])).stdout)
    assert.equal(imported.calls.length, 30)
    assert.equal((await runCli(['why', 'nobody', ...home])).code, 3)
  })
})

describe('palimpsest report', () => {
  test('writes one page that loads nothing, with escaped names and the sums', async () => {
    const own = await mkdtemp(join(tmpdir(), 'palimpsest-report-'))
    const file = await writeTranscript('report.jsonl', 30)
    const text = (await readFile(file, 'utf8')).replaceAll('session-30', '<img src=x onerror=alert(1)>')
    await writeFile(join(own, 'one.jsonl'), text)
    const out = join(own, 'page.html')
    const { code, stdout, stderr } = await runCli(['report', own, '--out', out])
    assert.equal(code, 0, stderr)
    assert.match(stdout, /1 session, 30 calls, about \$\d+\.\d\d, estimated/)
    assert.match(stdout, /^Very long results +\d+/m)
    assert.match(stdout, /^answers +\d+\.\d\d/m)
    const html = await readFile(out, 'utf8')
    assert.doesNotMatch(html.replaceAll('http://www.w3.org/2000/svg', ''), /<img|https?:\/\/|<script|<link|url\(/)
    assert.match(html, /How much must stay visible/)
    assert.match(html, /Where the money goes: rent/)
    assert.match(html, /default-src &#39;none&#39;|default-src 'none'/)
  })

  test('gives the same as JSON, and writes a page only if one is named', async () => {
    const own = await mkdtemp(join(tmpdir(), 'palimpsest-report-'))
    await writeFile(join(own, 'one.jsonl'), await readFile(await writeTranscript('report2.jsonl', 20), 'utf8'))
    const { stdout, stderr } = await runCli(['report', own, '--json'])
    const { totals, sessions, rent } = JSON.parse(stdout)
    assert.equal(stderr, '')
    assert.equal(sessions.length, 1)
    assert.ok(totals.savedUsd > 0 && totals.savedUsd < totals.billedUsd)
    assert.deepEqual(Object.keys(totals.waste), ['repeated', 'huge', 'cold', 'busts', 'switches', 'front'])
    assert.ok(rent.kind.length > 1 && Math.abs(rent.dollars - totals.billedUsd) < 1e-9)
  })
})
