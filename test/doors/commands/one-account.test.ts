/**
 * One sum for a session, whichever command says it: with prices of the user's own, another model in the middle, a
 * compaction and a subagent.
 */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { runCli } from '../../cli.ts'

const folder = await mkdtemp(join(tmpdir(), 'palimpsest-account-'))
after(() => rm(folder, { recursive: true, force: true }))
const home = join(folder, '.agent')
/** Prices that no model has: a price from the table cannot give the same sum. */
const MODELS = { 'claude-sonnet-4-5': { input: 1000, output: 0 }, 'claude-haiku-4-5': { input: 7, output: 0 } }
await writeFile(join(folder, 'palimpsest.json'), JSON.stringify({ models: MODELS }))

type Call = { model?: string; input: number; more?: Record<string, unknown> }
let lines = 0

function line(type: string, message: object, more: object = {}): string {
  const at = new Date(Date.UTC(2026, 10, 1, 10, 0, lines)).toISOString()
  const place = { uuid: `u${++lines}`, parentUuid: `u${lines - 1}`, isSidechain: false, sessionId: 'abc', cwd: '/shop' }
  return JSON.stringify({ type, ...place, timestamp: at, message, ...more })
}

function call({ model = 'claude-sonnet-4-5', input, more = {} }: Call): string[] {
  const content = [{ type: 'text', text: `answer ${lines}` }]
  const usage = { input_tokens: input, output_tokens: 10 }
  return [
    line('user', { role: 'user', content: `question ${lines}` }, more),
    line('assistant', { id: `m${lines}`, role: 'assistant', model, content, usage }, more),
  ]
}

async function put(path: string, text: readonly string[], seconds: number): Promise<string> {
  const file = join(folder, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `${text.join('\n')}\n`)
  await utimes(file, seconds, seconds)
  return file
}

const agentsOwn = { isSidechain: true, agentId: 'a1' }
const PROJECT = '.claude/projects/-shop'
const file = await put(
  `${PROJECT}/abc.jsonl`,
  [
    ...call({ input: 1000 }),
    ...call({ input: 1000, model: 'claude-haiku-4-5' }),
    line('system', {}, { subtype: 'compact_boundary' }),
    line('user', { role: 'user', content: 'a summary' }, { isCompactSummary: true }),
    ...call({ input: 2000 }),
  ],
  2000,
)
await put(`${PROJECT}/abc/subagents/agent-a1.jsonl`, call({ input: 4000, more: agentsOwn }), 3000)
const BILL = (1000 * 1000 + 1000 * 7 + 2000 * 1000) / 1e6
const SUBAGENT = (4000 * 1000) / 1e6

const isCent = (a: number, b: number) => Math.abs(a - b) < 0.005
const run = async (...args: string[]) => {
  const { code, stdout, stderr } = await runCli([...args, '--home', home, '--json'], { env: { HOME: folder } })
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

test("report, replay, import and stats give the same sum, by the user's prices", async () => {
  const { totals, models } = await run('report', file)
  assert.ok(isCent(totals.billedUsd, BILL), `report says ${totals.billedUsd}`)
  const haiku = models.find(({ name }: { name: string }) => name === 'claude-haiku-4-5')
  assert.ok(isCent(haiku.billedUsd, 0.007), 'each call by its own model')
  const { rows } = await run('replay', file, '--policy', 'none')
  assert.ok(isCent(rows[0].dollars, BILL), `replay says ${rows[0].dollars}`)
  const { sessions } = await run('import', file)
  const { all } = await run('stats')
  assert.ok(isCent(all.cost, BILL), `stats says ${all.cost}`)
  let why = 0
  for (const { session } of sessions) why += (await run('why', session)).billedUsd
  assert.ok(isCent(why, BILL), `why says ${why}`)
})

test('for a file with several sessions, why names the session that it shows', async () => {
  const { stderr } = await runCli(['why', file, '--home', home])
  assert.match(stderr, /the longest of 2 sessions in the file, abc\. Import it to look at abc#2;/)
})

test('without a command, the sum is that of the whole last session: each call by its own model, with segments and subagents', async () => {
  const { last } = await run()
  assert.deepEqual([last.id, last.calls, last.file], ['abc', 4, file])
  assert.ok(isCent(last.billedUsd, BILL + SUBAGENT), `${last.billedUsd}`)
  const { totals } = await run('report')
  assert.ok(isCent(totals.billedUsd, BILL + SUBAGENT) && isCent(totals.subagents.billedUsd, SUBAGENT))
})

test('calls that a fork copied count once, even when two files are replayed', async () => {
  const [asked, answered] = call({ input: 500 })
  const copied = [asked!, answered!].map(text => ({ ...JSON.parse(text), forkedFrom: { sessionId: 'one' } }))
  const one = await put('forks/one.jsonl', [asked!, answered!], 100)
  const two = [...copied.map(each => JSON.stringify({ ...each, sessionId: 'two' })), ...call({ input: 700 })]
  await put('forks/two.jsonl', two, 200)
  const { rows } = await run('replay', dirname(one), '--policy', 'none')
  assert.ok(isCent(rows[0].dollars, (500 + 700) * 0.001), `${rows[0].dollars}`)
})

test("the slider of the report covers every session, including those in opencode's folder", async () => {
  const storage = 'opencode/storage'
  for (const n of [1, 2]) {
    const session = `ses_${n}`
    const tokens = { input: 9, output: 1, reasoning: 0, cache: { read: 0, write: 0 } }
    const asked = { id: `msg_${n}a`, sessionID: session, role: 'user', time: { created: n } }
    const told = {
      id: `msg_${n}b`,
      sessionID: session,
      role: 'assistant',
      modelID: 'gpt-5.4',
      tokens,
      time: { created: n },
    }
    await put(`${storage}/session/p/${session}.json`, [JSON.stringify({ id: session, directory: '/shop' })], n)
    for (const message of [asked, told]) {
      await put(`${storage}/message/${session}/${message.id}.json`, [JSON.stringify(message)], n)
      const part = { id: `prt_${message.id}`, messageID: message.id, sessionID: session, type: 'text', text: 'x' }
      await put(`${storage}/part/${message.id}/${part.id}.json`, [JSON.stringify(part)], n)
    }
  }
  const page = join(folder, 'store.html')
  const { stderr } = await runCli(['report', join(folder, 'opencode'), '--out', page, '--home', home])
  assert.doesNotMatch(stderr, /The slider is of/)
  assert.match(await readFile(page, 'utf8'), /replayed on all 2 sessions/)
})

test('a report states what its limit leaves out', async () => {
  for (const name of ['x', 'y', 'z']) await put(`many/${name}.jsonl`, call({ input: 1 }), 10)
  const { stderr, stdout } = await runCli(['report', join(folder, 'many'), '--limit', '1', '--json', '--home', home])
  assert.equal(JSON.parse(stdout).left, 2, stderr)
  const page = join(folder, 'page.html')
  const told = await runCli(['report', join(folder, 'many'), '--limit', '2', '--out', page, '--home', home])
  assert.match(told.stderr, /1 older file left out of all sums: raise --limit, which is 2 sessions\./)
})

test('every command says that an unknown price is assumed', async () => {
  const unknown = await put('odd/odd.jsonl', call({ input: 10, model: 'acme-one' }), 10)
  const page = join(folder, 'odd.html')
  const said = /The price of acme-one is not known; it is priced as claude-sonnet-4-5/
  for (const args of [
    ['report', unknown, '--out', page],
    ['why', unknown],
    ['replay', unknown],
  ]) {
    const { stderr } = await runCli([...args, '--home', home])
    assert.match(stderr, said, args[0])
  }
  assert.match(await readFile(page, 'utf8'), said)
  await run('import', unknown, '--as', 'odd')
  assert.match((await runCli(['stats', 'odd', '--home', home])).stderr, said)
  assert.doesNotMatch((await runCli(['why', file, '--home', home])).stderr, /not known/)
})
