/** An agent for tests: the real one, over HTTP against a scripted upstream, in a temporary folder and home. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Agent, type AgentOptions, openAgent } from '../../src/agent/agent.ts'
import type { AgentEvent } from '../../src/agent/events.ts'
import { openModel, type Provider } from '../../src/agent/model.ts'
import type { Persona } from '../../src/agent/personas.ts'
import { Memory } from '../../src/memory/memory.ts'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import { openPalimpsest, type Palimpsest, type PalimpsestOptions } from '../../src/session/engine.ts'
import { type Received, type Script, startUpstream, type Upstream } from '../upstream.ts'

export type Ground = {
  agent: Agent
  pal: Palimpsest
  memory: Memory
  upstream: Upstream
  root: string
  home: string
  options: AgentOptions
  [Symbol.asyncDispose](): Promise<void>
}

export const PERSONA: Persona = { name: 'tester', systemPrompt: 'You are an agent under test.' }

export type GroundOptions = Partial<AgentOptions> & {
  provider?: Provider
  modelName?: string
  session?: string
  stallMs?: number
  engine?: PalimpsestOptions
  files?: Record<string, string>
}

export async function openGround(script: Script, given: GroundOptions = {}): Promise<Ground> {
  const { provider = 'openai-compatible', session = 'work', engine, files = {}, stallMs, ...more } = given
  const folder = mkdtempSync(join(tmpdir(), 'agent-test-'))
  const upstream = await startUpstream(script)
  const home = join(folder, 'home')
  const pal = await openPalimpsest({ home, config: false, ...engine })
  const workspace = join(folder, 'workspace')
  const memory = new Memory(new SqliteMemory(':memory:'), { workspaceOf: () => workspace })
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text)
  const model = await openModel({
    provider,
    name: given.modelName ?? (provider === 'anthropic' ? 'claude-sonnet-4-5' : 'gpt-4.1'),
    baseUrl: `${upstream.url}/v1`,
    key: 'a key that must not be kept',
    temperature: 0.5,
    ...(stallMs === undefined ? {} : { stallMs }),
  })
  const options: AgentOptions = {
    pal,
    memory,
    user: 'ada',
    workspace,
    root: folder,
    persona: PERSONA,
    model,
    retry: { base: 1 },
    env: { PATH: process.env['PATH'] },
    ...more,
  }
  return {
    agent: await openAgent(session, options),
    pal,
    memory,
    upstream,
    root: folder,
    home,
    options,
    async [Symbol.asyncDispose]() {
      await pal.close()
      await memory.close()
      await upstream.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function all(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const list: AgentEvent[] = []
  for await (const event of events) list.push(event)
  return list
}

/** The events of a turn that is stopped at the first event of a type. */
export async function stoppedAt(type: AgentEvent['type'], { agent }: Ground, request: string): Promise<AgentEvent[]> {
  const stop = new AbortController()
  const events: AgentEvent[] = []
  for await (const event of agent.run(request, { signal: stop.signal })) {
    events.push(event)
    if (event.type === type) stop.abort()
  }
  return events
}

export function only<T extends AgentEvent['type']>(events: readonly AgentEvent[], type: T) {
  return events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type)
}

export function doneOf(events: readonly AgentEvent[]) {
  const done = only(events, 'done')
  if (done.length !== 1 || events.at(-1) !== done[0]) throw new Error('a turn ends with exactly one done')
  return done[0]!
}

/** The texts of a request's messages, whichever dialect it is in. */
export function textsOf({ json }: Received): { role: string; text: string }[] {
  return json.messages.map((message: { role: string; content: unknown }) => ({
    role: message.role,
    text: typeof message.content === 'string' ? message.content : JSON.stringify(message.content ?? ''),
  }))
}
