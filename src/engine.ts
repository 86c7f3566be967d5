/**
 * The one object that every door holds: a home with a ledger in it, and the sessions.
 *
 * `openPalimpsest({ home })` opens (or makes) a folder with `ledger.sqlite`; `':memory:'` keeps everything in
 * memory. Sessions share the store; several processes may hold the same home.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { PalimpsestError } from './errors.ts'
import { SqliteLedger } from './ledger/sqlite.ts'
import type { Hit, LedgerStore, SessionRow } from './ledger/store.ts'
import { none, type PlannerFactory } from './policies/policy.ts'
import { type ModelTable, modelInfo } from './prices.ts'
import { docsOf, Session } from './session.ts'
import { SessionState } from './session-state.ts'
import type { ToolTable } from './tool-kinds.ts'

export const MEMORY = ':memory:'
const DEFAULT_MODEL = 'claude-sonnet-4-5'

export type PalimpsestOptions = {
  /** A folder, or ':memory:'. The environment variable PALIMPSEST_HOME, or `.agent`, by default. */
  home?: string
  /** Another store than the SQLite file in the home. */
  store?: LedgerStore
  clock?: () => number
  models?: ModelTable
  tools?: ToolTable
  /** Keeps a file that an edit points to, in place of the folder in the home. */
  keepFile?: (path: string, text: string) => Promise<void>
}

export type OpenOptions = {
  /** A preset by name, or a planner of one's own. */
  policy?: string | PlannerFactory
  model?: string
  /** Tokens of system prompt and tools that are sent in front of the messages. */
  overhead?: number
  /** Fails when there is no such session. */
  mustExist?: boolean
}

export type SessionInfo = Omit<SessionRow, 'meta'> & { policy: string; model: string }

type Meta = { policy: string; model: string; overhead?: number }

export async function openPalimpsest(options: PalimpsestOptions = {}): Promise<Palimpsest> {
  const home = options.home ?? process.env['PALIMPSEST_HOME'] ?? '.agent'
  const store = options.store ?? new SqliteLedger(home === MEMORY ? MEMORY : join(home, 'ledger.sqlite'))
  return new Palimpsest(home, store, options)
}

export class Palimpsest {
  readonly home: string
  readonly #store: LedgerStore
  readonly #options: PalimpsestOptions

  constructor(home: string, store: LedgerStore, options: PalimpsestOptions) {
    this.home = home
    this.#store = store
    this.#options = options
  }

  /** Opens a session, or makes it. What is not given is as it was when the session was last opened. */
  async session(id: string, options: OpenOptions = {}): Promise<Session> {
    if (!id || id.length > 200)
      throw new PalimpsestError('INVALID_INPUT', 'A session needs a name of 1–200 characters.')
    const row = await this.#store.find(id)
    if (!row && options.mustExist) {
      throw new PalimpsestError('SESSION_NOT_FOUND', `There is no session ${id}. List them with: palimpsest sessions`, {
        session: id,
      })
    }
    const stored: Partial<Meta> = row ? JSON.parse(row.meta) : {}
    const policy = policyOf(options.policy ?? stored.policy ?? 'none')
    const model = options.model ?? stored.model ?? DEFAULT_MODEL
    const overhead = options.overhead ?? stored.overhead ?? 0
    const meta = JSON.stringify({ policy: policy.name, model, ...(overhead > 0 ? { overhead } : {}) } satisfies Meta)
    const clock = this.#options.clock ?? Date.now
    if (!row) await this.#store.open(id, { at: clock(), meta })
    else if (row.meta !== meta) await this.#store.setMeta(id, meta)
    const tools = this.#options.tools ? { tools: this.#options.tools } : {}
    const state = new SessionState(this.#store, id, {
      ...tools,
      policy,
      model: modelInfo(model, this.#options.models),
      overhead,
      clock,
      keepFile: this.#options.keepFile ?? ((path, text) => this.#keepFile(path, text)),
    })
    await state.load()
    return new Session(state, { store: this.#store, ...tools, open: name => this.session(name, options) })
  }

  /** The sessions, the last used first. */
  async sessions(options: { limit?: number; after?: string; contains?: string } = {}): Promise<SessionInfo[]> {
    const rows = await this.#store.list(options)
    return rows.map(({ meta, ...row }) => {
      const { policy = 'none', model = DEFAULT_MODEL }: Partial<Meta> = JSON.parse(meta)
      return { ...row, policy, model }
    })
  }

  /** Full-text search over all sessions. */
  search(query: string, { limit = 20 }: { limit?: number } = {}): Promise<Hit[]> {
    return this.#store.search(query, { limit, docs: docsOf })
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Files that edits point to lie in the home, under the name that the view gives them. */
  async #keepFile(path: string, text: string): Promise<void> {
    if (this.home === MEMORY) throw new PalimpsestError('STORE_READONLY', 'a session in memory keeps no files')
    const whole = join(this.home, path)
    await mkdir(dirname(whole), { recursive: true })
    await writeFile(whole, text)
  }
}

function policyOf(policy: string | PlannerFactory): PlannerFactory {
  if (typeof policy !== 'string') return policy
  if (policy === 'none') return none
  throw new PalimpsestError('CONFIG_INVALID', `There is no policy ${policy}.`, { policy })
}
