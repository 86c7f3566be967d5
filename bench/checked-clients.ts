/**
 * Real agents on scripted providers that check and bill: several prompts in one conversation, each with its calls, once
 * through the proxy with nothing edited and once with the default planner. Prints refusals and both bills.
 *
 *   npm run bench:checked-clients -- [--prompts 12] [--calls 9] [--only codex] [--write]
 *
 * The clock belongs to the run: some seconds a call, a minute between prompts, and a longer pause now and then. Fails if
 * a provider refuses a request, an agent does not finish, or the bill is higher with us.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { serveProxy } from '../src/doors/proxy/front.ts'
import { createProxy } from '../src/doors/proxy/proxy.ts'
import { openPalimpsest } from '../src/session/engine.ts'
import {
  CLIENTS,
  type Client,
  endLeftOvers,
  furnish,
  isThere,
  MORE,
  type Ran,
  runPrompt,
  shellCall,
  TASK,
  USUAL,
} from '../test/doors/proxy/real-clients.ts'
import { startGemini } from '../test/gemini-upstream.ts'
import type { Bill } from '../test/providers/billing.ts'
import { checkingAnthropic } from '../test/providers/checking-anthropic.ts'
import { checkingGemini } from '../test/providers/checking-gemini.ts'
import { checkingOpenAI } from '../test/providers/checking-openai.ts'
import { type Received, startUpstream, type Turn, type Upstream } from '../test/upstream.ts'

type Size = { prompts: number; calls: number }
type Clock = { now: number }
/** Ten thousand requests would fill the memory. */
const FORGETS = { forgets: true }

type Provider = { upstream: Upstream; bill: Bill; refusals: string[] }
type Result = { bill: Bill; refusals: string[]; faults: string[]; edits: number; forks: number; failed?: string }

/** The models of today that each is run with. */
const MODELS: Record<Client['dialect']['name'], string> = {
  anthropic: 'claude-opus-5-5',
  'openai-chat': 'gpt-6.1-sol',
  'openai-responses': 'gpt-6.1-sol',
  gemini: 'gemini-3.1-pro-preview',
}

const MINUTE = 60_000
const CALL = 12_000
const START = Date.parse('2026-11-17T00:00:00Z')
const DONE = 'This part is built, and all of it works. What shall I do next?'
const LAST = 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT'

function pauseBefore(prompt: number): number {
  if (prompt === 0) return 0
  return prompt % 8 === 0 ? 70 * MINUTE : prompt % 4 === 0 ? 7 * MINUTE : MINUTE
}

/** A model that thinks and builds one part after the other, and stops after so many calls until it is asked again. */
function builder({ calls, prompts }: Size, clock: Clock, { single, program }: Client): (received: Received) => Turn {
  const perTurn = single ? calls * prompts : calls
  let made = 0
  let part = 0
  return received => {
    clock.now += CALL
    const next = `sh build.sh ${part} ${25 + ((part * 37) % 11) * 15}`
    const call = shellCall(received, program === 'mini' && part >= perTurn ? LAST : next)
    if (!call) return { text: 'A title' }
    made++
    const thinking = { text: `Part ${part} is next, because the one before it was built. So I go on.`, signature: '' }
    if (program !== 'mini' && made % (perTurn + 1) === 0) return { thinking, text: DONE }
    part++
    return { thinking, text: `Part ${part}.`, calls: [call] }
  }
}

async function startProvider(
  { dialect }: Client,
  answer: (received: Received) => Turn,
  clock: Clock,
): Promise<Provider> {
  const options = { clock: () => clock.now }
  if (dialect.name === 'gemini') {
    const { script, bill } = checkingGemini(answer, options)
    return { upstream: await startGemini(script, FORGETS), bill, refusals: [] }
  }
  const provider = dialect.name === 'anthropic' ? checkingAnthropic(answer, options) : checkingOpenAI(answer, options)
  return { ...provider, upstream: await startUpstream(provider.script, FORGETS) }
}

async function run(client: Client, size: Size, policy: string): Promise<Result> {
  const clock = { now: START }
  const provider = await startProvider(client, builder(size, clock, client), clock)
  const { url } = provider.upstream
  const home = await mkdtemp(join(tmpdir(), 'palimpsest-checked-'))
  const faults: string[] = []
  const pal = await openPalimpsest({ home: join(home, '.palimpsest'), clock: () => clock.now })
  const upstreams = { anthropic: url, openai: `${url}/v1`, gemini: url }
  const proxy = createProxy({ pal, policy, upstreams, clock: () => clock.now, log: line => faults.push(line) })
  const front = await serveProxy(proxy)
  const model = MODELS[client.dialect.name]
  const place = { url: front.url, home, model }
  await furnish(client, place)
  let failed: string | undefined
  for (let prompt = 0; prompt < (client.single ? 1 : size.prompts) && !failed; prompt++) {
    clock.now += pauseBefore(prompt)
    const ask = { prompt: prompt === 0 ? TASK : `Now part ${prompt}, please.`, model, again: prompt > 0 }
    failed = failureOf(await runPrompt(client, place, ask), client)
    await proxy.idle()
  }
  const sessions = await pal.sessions({ limit: 500 })
  const forks = sessions.filter(({ id }) => /-fork-\d+$/.test(id)).length
  endLeftOvers(home)
  await front.close()
  await provider.upstream.close()
  await pal.close()
  await rm(home, { recursive: true, force: true, maxRetries: 3 })
  const { bill, refusals } = provider
  return { bill, refusals, faults, edits: proxy.meter.totals.edits, forks, ...(failed ? { failed } : {}) }
}

function failureOf({ out, err, code }: Ran, { program }: Client): string | undefined {
  if (code === 0 && (SILENT.has(program) || /all of it works/.test(out))) return undefined
  return `ended with ${code}: ${err.slice(-600)}${out.slice(-600)}`
}

/** These clients do not print the last answer of the model. */
const SILENT = new Set(['mini', 'python3'])

const HEAD = `| agent | model | calls | refused | edits | histories that it rewrote | bill without | with | share |
|---|---|--:|--:|--:|--:|--:|--:|--:|`

async function compare(client: Client, size: Size): Promise<{ row: string; complaints: string[] }> {
  const without = await run(client, size, 'none')
  const { bill, refusals, faults, edits, forks, failed } = await run(client, size, 'thrifty')
  const share = bill.dollars / without.bill.dollars
  const money = [without.bill.dollars, bill.dollars].map(dollars => `$${dollars.toFixed(3)}`)
  const cells = [client.name, MODELS[client.dialect.name], bill.calls, refusals.length, edits, forks, ...money]
  const complaints = [
    ...refusals.slice(0, 3).map(text => `refused: ${text}`),
    ...faults.slice(0, 3).map(text => `fault: ${text}`),
    ...[without.failed, failed].flatMap(text => text ?? []),
    ...(share > 1.001 ? [`the bill is ${share.toFixed(3)} of the bill without us`] : []),
  ]
  return { row: `| ${[...cells, share.toFixed(3)].join(' | ')} |`, complaints }
}

async function main(): Promise<void> {
  const options = { prompts: { type: 'string' }, calls: { type: 'string' }, only: { type: 'string' } } as const
  const { values } = parseArgs({ options })
  const size = { prompts: Number(values.prompts ?? 12), calls: Number(values.calls ?? 9) }
  if (CLIENTS === '') throw new Error('Set PALIMPSEST_CLIENTS to the folder of scripts/clients.sh.')
  const wanted = values.only?.toLowerCase().split(',')
  const all = [...USUAL, ...MORE].filter(
    ({ name }) => !wanted || wanted.some(part => name.toLowerCase().includes(part)),
  )
  console.log(HEAD)
  for (const client of all) {
    if (!isThere(client)) {
      console.error(`${client.name} is not installed.`)
      continue
    }
    const { row, complaints } = await compare(client, size)
    console.log(row)
    for (const text of complaints) console.error(`${client.name}: ${text}`)
    if (complaints.length > 0) process.exitCode = 1
  }
}

await main()
