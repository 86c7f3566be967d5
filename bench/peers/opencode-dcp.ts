/**
 * opencode-dcp, from its own package: deduplication of equal calls and the purge of failed calls' inputs.
 *
 * The package exports only the plugin, so its functions are exported by a hook while it is loaded; none of them is
 * changed but the token count, which builds an encoder for each text and feeds statistics that no strategy reads.
 * Since version 3 the strategies run when the model calls the plugin's compress tool. A replay has no model that could
 * summarize, so compressing itself is not compared: the default runs them where the plugin asks for it.
 */
import { registerHooks } from 'node:module'
import type { Counter } from '../../src/model/tokens.ts'
import { messageTokens } from '../../src/model/tokens.ts'
import type { Message } from '../../src/model/types.ts'
import { Cleared, outputOf, type Peer, resultOf } from './peer.ts'

type State = { currentTurn: number; prune: { tools: Map<string, number> } }
type Logger = Record<'info' | 'debug' | 'warn' | 'error', () => void>
type Config = { compress: { maxContextLimit: number | string; nudgeFrequency: number } }
type Work = (state: State, logger: Logger, config: Config, messages: OpencodeMessage[]) => void
type Dcp = {
  defaultConfig: Config
  createSessionState(): State
  countTurns(state: State, messages: OpencodeMessage[]): number
  syncToolCache(state: State, config: Config, logger: Logger, messages: OpencodeMessage[]): void
  buildToolIdList(state: State, messages: OpencodeMessage[]): void
  deduplicate: Work
  purgeErrors: Work
  prune: Work
}
type ToolPart = {
  type: 'tool'
  callID: string
  tool: string
  state: { status: 'pending' | 'completed' | 'error'; input: Record<string, unknown>; output?: string; error?: string }
}
type OpencodePart = ToolPart | { type: 'step-start' } | { type: 'text'; text: string }
type OpencodeMessage = {
  info: { id: string; sessionID: string; role: 'user' | 'assistant'; time: { created: number } }
  parts: OpencodePart[]
}

const PACKAGE = '@tarquinen/opencode-dcp'
const FUNCTIONS = [
  'defaultConfig',
  'createSessionState',
  'countTurns',
  'syncToolCache',
  'buildToolIdList',
  'deduplicate',
  'purgeErrors',
  'prune',
] as const satisfies (keyof Dcp)[]
const SILENT: Logger = { info() {}, debug() {}, warn() {}, error() {} }

export async function loadOpencodeDcp(): Promise<Peer[]> {
  const dcp = await importAll()
  const { maxContextLimit, nudgeFrequency } = dcp.defaultConfig.compress
  const limit = Number(maxContextLimit)
  return [
    strategies(dcp, `default: when it asks to compress (${limit / 1000}k)`, {
      limit,
      every: nudgeFrequency,
    }),
    strategies(dcp, 'other: on every call', { limit: 0, every: 1 }),
  ]
}

async function importAll(): Promise<Dcp> {
  const hooks = registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (!url.includes(`/${PACKAGE}/dist/index.js`)) return loaded
      return {
        ...loaded,
        source: `${loaded.source}\ncountToolTokens = () => 0\nexport { ${FUNCTIONS.join(', ')} }\n`,
      }
    },
  })
  try {
    const found: unknown = await import(PACKAGE)
    if (!isDcp(found)) throw new Error(`${PACKAGE} has other functions than its version 3.1`)
    return found
  } finally {
    hooks.deregister()
  }
}

function isDcp(found: unknown): found is Dcp {
  return found !== null && typeof found === 'object' && FUNCTIONS.every(name => name in found)
}

function strategies(dcp: Dcp, setting: string, { limit, every }: { limit: number; every: number }): Peer {
  return {
    name: 'opencode-dcp strategies',
    setting,
    source: `${PACKAGE} 3.1`,
    runs: 'package',
    start(count) {
      const state = dcp.createSessionState()
      const book = new Book(count)
      let call = 0
      return {
        view({ messages, fresh, overhead }) {
          for (const message of messages.slice(fresh)) book.take(message)
          if (overhead + book.tokens >= limit && call++ % every === 0) {
            state.currentTurn = dcp.countTurns(state, book.messages)
            dcp.syncToolCache(state, dcp.defaultConfig, SILENT, book.messages)
            dcp.buildToolIdList(state, book.messages)
            dcp.deduplicate(state, SILENT, dcp.defaultConfig, book.messages)
            dcp.purgeErrors(state, SILENT, dcp.defaultConfig, book.messages)
            dcp.prune(state, SILENT, dcp.defaultConfig, book.messages)
            book.mark(state.prune.tools.keys())
          }
          return book.cleared.show(messages)
        },
      }
    },
  }
}

type Filed = { part: ToolPart; call: Message; result?: Message }

/** The conversation as opencode keeps it: a call and its result are one part. */
class Book {
  readonly messages: OpencodeMessage[] = []
  readonly cleared = new Cleared()
  readonly #tools = new Map<string, Filed>()
  readonly #marked = new Set<string>()
  readonly #count: Counter
  tokens = 0

  constructor(count: Counter) {
    this.#count = count
  }

  take(message: Message): void {
    this.tokens += messageTokens(message, this.#count)
    const result = resultOf(message)
    if (result) {
      const filed = this.#tools.get(result.id)
      if (!filed) return
      filed.result = message
      const text = outputOf(result)
      Object.assign(
        filed.part.state,
        result.isError ? { status: 'error', error: text } : { status: 'completed', output: text },
      )
      return
    }
    const parts = message.parts.flatMap((part): OpencodePart[] => {
      if (part.type === 'text') return [{ type: 'text', text: part.text }]
      if (part.type !== 'tool-call') return []
      const state = { status: 'pending' as const, input: toInput(part.input) }
      const made: ToolPart = { type: 'tool', callID: part.id, tool: part.name.toLowerCase(), state }
      this.#tools.set(part.id, { part: made, call: message })
      return [made]
    })
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const start: OpencodePart[] = role === 'assistant' ? [{ type: 'step-start' }] : []
    const info = {
      id: `msg_${this.messages.length}`,
      sessionID: 'ses_replay',
      role,
      time: { created: message.at ?? 1 },
    } as const
    this.messages.push({ info, parts: [...start, ...parts] })
  }

  /** Takes over what was pruned since the last call. */
  mark(ids: Iterable<string>): void {
    for (const id of ids) {
      const filed = this.#tools.get(id)
      if (!filed?.result || this.#marked.has(id)) continue
      this.#marked.add(id)
      const { call, result, part } = filed
      if (part.state.status === 'completed') this.cleared.clear(result, part.state.output ?? '')
      else {
        const shown = this.cleared.show([call])[0]!
        const parts = shown.parts.map(own =>
          own.type === 'tool-call' && own.id === id ? { ...own, input: part.state.input } : own,
        )
        this.cleared.replace(call, { ...shown, parts })
      }
    }
  }
}

function toInput(input: unknown): Record<string, unknown> {
  return input !== null && typeof input === 'object' && !Array.isArray(input) ? { ...input } : { input }
}
