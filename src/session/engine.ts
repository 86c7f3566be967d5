/**
 * A home with its ledger and its sessions: the object that every door uses.
 *
 * `openPalimpsest({ home })` opens (or makes) a folder with `ledger.sqlite`; `':memory:'` keeps everything in
 * memory. With PALIMPSEST_DATABASE_URL the ledger is in that PostgreSQL database. Sessions share the store; several
 * processes may hold the same home.
 */
import type { ToolTable } from '../calls/tool-kinds.ts'
import { openHomeFiles } from '../files/open.ts'
import type { FileStore, Files, HomeFiles } from '../files/store.ts'
import { announced, type SessionChange } from '../ledger/announced.ts'
import type { PrintedHead } from '../ledger/head.ts'
import { Ledger, type Timed } from '../ledger/ledger.ts'
import { openLedger } from '../ledger/open.ts'
import { ownedBy, ownerIn } from '../ledger/owners.ts'
import { covered, placesIn, type Redacted, type ToRedact } from '../ledger/redaction.ts'
import { type Restored, restoreEvents, type ToRestore } from '../ledger/restore.ts'
import { type LedgerStore, type ListOptions, noSession, type SessionRow } from '../ledger/store.ts'
import { checkTombstones, type Tombstone } from '../ledger/tombstones.ts'
import { logDay } from '../memory/workspace.ts'
import { DEFAULT_MODEL, DEFAULT_PLANNER, homeIn, MEMORY } from '../model/defaults.ts'
import { isPalimpsestError, PalimpsestError } from '../model/errors.ts'
import { parseJson } from '../model/json.ts'
import { Listeners } from '../model/listeners.ts'
import { withIds } from '../policies/ids.ts'
import type { PlannerFactory } from '../policies/policy.ts'
import { type ModelTable, type ModelUse, modelInfo, NO_MODELS, PRICES_AS_OF } from '../providers/models.ts'
import type { Place } from '../recall/index.ts'
import { type Embed, meaningOf } from '../recall/meaning.ts'
import { search } from '../recall/search.ts'
import type { WriteSummary } from '../summaries/model-summary.ts'
import { type Config, type Settings, settingsFor } from './config.ts'
import { everySession } from './every-session.ts'
import { defaultPlanner, findPlanner, type PlannerChoice, plannerNamed } from './planners.ts'
import {
  describeHits,
  folderName,
  isInProject,
  MOST_OF_ALL_BY_MEANING,
  pieceOf,
  type RecallOptions,
  type SessionHit,
} from './recall.ts'
import { leaveOutRedacted } from './redacting.ts'
import { Session } from './session.ts'
import { dropUnnamed, filesOf, keepArchive, keepFile, rewriteFiles } from './session-files.ts'
import { aboutOf, idsOver, type Meta, type SessionInfo, toTags, toTitle, wholeName } from './session-info.ts'
import { type About, type SessionOptions, toldToPlanner } from './session-options.ts'
import { SessionState } from './state.ts'

export type { SessionInfo } from './session-info.ts'

export type PalimpsestOptions = {
  /** A folder, or ':memory:'. The environment variable PALIMPSEST_HOME, or `.agent`, by default. */
  home?: string
  /** A store to use instead of the SQLite file in the home. */
  store?: LedgerStore
  /** The ledger's PostgreSQL database: PALIMPSEST_DATABASE_URL by default; `false` means the file in the home. */
  databaseUrl?: string | false
  clock?: () => number
  models?: ModelTable
  tools?: ToolTable
  /** Keeps a file that an edit points to, instead of writing it to the home's folder. */
  keepFile?: (path: string, text: string) => Promise<void>
  /** Embeds texts. With it, recall also ranks hits by meaning. */
  embed?: Embed
  /** Lets a model write the summaries that policies plan. If it fails, our own summary is used. */
  summarize?: WriteSummary
  /** The workspace whose daily log gets a line when old entries are summarised. The default is the one in the home. */
  workspace?: Files
  /**
   * A configuration, or the path of one; `false` for none. The default is `palimpsest.json` in the folder that holds
   * the home, if the file exists. Options given here override the configuration.
   */
  config?: Config | string | false
}

export type OpenOptions = {
  /** A preset by name, a planner, or a policy that is applied at every turn. */
  planner?: PlannerChoice
  /** @deprecated The old name of `planner`. */
  policy?: PlannerChoice
  model?: string
  /** The cache lifetime that requests ask for (`5m`, `1h`). The default is the provider's. */
  cacheTtl?: string
  /** Milliseconds for which the provider was seen to keep a prefix, if that is longer than it documents. */
  cacheKept?: number
  /** Tokens of the system prompt and tools, which are sent before the messages. */
  overhead?: number
  /** Adds ids to the end of results over this many characters, for the context tool; `true` means 2000. */
  ids?: boolean | number
  /** The tool with which the agent saves important information; warnings name it. */
  saveWith?: string
  /** Whether the provider can be asked to clear the oldest results itself. */
  serverClears?: boolean
  /** The tool with which the agent finds shortened texts (`recall`). With `false` no text names one. */
  recallWith?: string | false
  /**
   * Whether the agent can read the files of the home, to which long results are moved. The default is yes, unless they
   * are in a database.
   */
  readsFiles?: boolean
  /** Fails when there is no such session. */
  mustExist?: boolean
  /** Facts about the session. Fields that are left out keep their value. */
  about?: About
  /** Options given here apply to this opening and to forks made from it; an existing session keeps its own. */
  asGuest?: boolean
}

export type RecallAllOptions = RecallOptions & {
  /** Which sessions to search; the default is all of the home's. */
  among?: (session: string) => boolean
  /** Only sessions that worked in this folder or inside it. The end of a path is enough. */
  project?: string
  /** Only sessions with this tag. */
  tag?: string
}

type Chosen = { [K in 'project' | 'tag' | 'among']: RecallAllOptions[K] | undefined }

/** `read` holds the configuration; every engine made by `of` or `with` shares it. */
type EngineOptions = PalimpsestOptions & {
  read: { settings: Settings }
  changes: Listeners<SessionChange>
  files: HomeFiles
}

export async function openPalimpsest(options: PalimpsestOptions = {}): Promise<Palimpsest> {
  const home = options.home ?? homeIn(process.env)
  const store = options.store ?? (await openLedger(home, options.databaseUrl))
  const files = await openHomeFiles(home, options.store ? (options.databaseUrl ?? false) : options.databaseUrl)
  const read = { settings: await settingsFor(home, options.config) }
  const changes = new Listeners<SessionChange>()
  const telling = announced(store, change => changes.tell(change))
  return new Palimpsest(home, telling, { ...options, read, changes, files })
}

export class Palimpsest {
  readonly home: string
  readonly #store: LedgerStore
  readonly #options: EngineOptions
  /** The user whose sessions these are; `undefined` for all sessions of the home. */
  readonly #owner: string | undefined

  constructor(home: string, store: LedgerStore, options: EngineOptions, owner?: string) {
    this.home = home
    this.#store = store
    this.#options = options
    this.#owner = owner
  }

  /**
   * The same home for one of its users: it shows their sessions under their own names, and no others. Files beside
   * the ledger go to the user's folder. The home itself calls their sessions `@user/name`.
   */
  of(owner: string): Palimpsest {
    return new Palimpsest(this.home, ownedBy(owner, this.#store), this.#options, owner)
  }

  get models(): ModelTable {
    return this.#options.models ?? this.settings.models ?? NO_MODELS
  }

  /** The current settings. Reading the configuration again gives a new object. */
  get settings(): Settings {
    return this.#options.read.settings
  }

  /** Reads the configuration again. It applies to sessions that are opened from now on. */
  async reconfigure(): Promise<void> {
    this.#options.read.settings = await settingsFor(this.home, this.#options.config)
  }

  /** The planner of sessions that do not name one. */
  plannerFor(about: About): string | PlannerFactory {
    return defaultPlanner(this.settings, about)
  }

  /** The same sessions, with other values for some options. */
  with(options: Pick<PalimpsestOptions, 'summarize' | 'workspace' | 'clock'>): Palimpsest {
    return new Palimpsest(this.home, this.#store, { ...this.#options, ...options }, this.#owner)
  }

  /** Calls the listener when a session of this process changes. Returns a function that stops it. */
  onChange(listener: (change: SessionChange) => void): () => void {
    return this.#options.changes.listen(listener)
  }

  /** Opens or creates a session. Options that are not given keep their last value. */
  async session(id: string, options: OpenOptions = {}): Promise<Session> {
    const row = await this.#store.find(id)
    if (!row && options.mustExist) {
      throw new PalimpsestError('SESSION_NOT_FOUND', `There is no session ${id}. List them with: palimpsest sessions`, {
        session: id,
      })
    }
    if (!row) checkName(this.#placed(id).name)
    const meta = this.#metaOf(row ? parseJson(row.meta) : {}, options)
    const text = JSON.stringify(meta)
    if (!row) await this.#store.open(id, { at: this.#clock(), meta: text })
    else if (row.meta !== text && !options.asGuest) await this.#store.setMeta(id, text)
    const planner = plannerNamed(options.planner ?? options.policy ?? meta.policy, this.settings, meta.about)
    const state = new SessionState(this.#store, id, {
      ...this.#stateOptions(id, meta, planner),
      ...toldToPlanner(options),
    })
    await state.load().catch(async error => {
      // Events of an unknown shape, or that do not fit earlier ones, may be damaged. Verifying reports the damage.
      const isTold = isPalimpsestError(error) && /^(?:LEDGER|STORE)_/.test(error.code)
      if (!isTold) await new Ledger(this.#store, id).verify()
      throw error
    })
    return new Session(state, {
      store: this.#store,
      tools: this.#tools,
      embed: this.#embed,
      open: (name, about) => {
        const added = about ? { about: { ...options.about, ...about } } : {}
        return this.session(name, { ...options, ...added, asGuest: false })
      },
    })
  }

  /** The meta of a session: the given options first, then the stored ones, then the configuration. */
  #metaOf(stored: Partial<Meta>, options: OpenOptions): Meta {
    const { settings } = this
    const told = aboutOf(stored.about, options.about)
    const given = options.planner ?? options.policy ?? stored.policy ?? defaultPlanner(settings, told.about)
    const overhead = options.overhead ?? stored.overhead ?? settings.overhead ?? 0
    return {
      policy: plannerNamed(given, settings, told.about).name,
      model: options.model ?? stored.model ?? settings.model ?? DEFAULT_MODEL,
      cacheTtl: options.cacheTtl ?? stored.cacheTtl ?? settings.cacheTtl,
      cacheKept: options.cacheKept ?? stored.cacheKept,
      overhead: overhead > 0 ? overhead : undefined,
      ids: idsOver(options.ids, stored.ids),
      ...told,
    }
  }

  #stateOptions(
    id: string,
    { model, cacheTtl, cacheKept = 0, overhead = 0, ids }: Meta,
    planner: PlannerFactory,
  ): SessionOptions {
    const { keepFile, summarize } = this.#options
    const known = modelInfo(model, this.models, dayAndTtl(this.#clock(), cacheTtl))
    return {
      tools: this.#tools,
      policy: ids === undefined ? planner : withIds(planner, ids),
      model: { ...known, ttl: Math.max(known.ttl, cacheKept) },
      overhead,
      clock: this.#clock,
      keepFile: keepFile ?? ((path, text) => this.#keepFile(id, path, text)),
      summarize,
      ...(this.home === MEMORY ? {} : this.#records(id, this.#clock)),
    }
  }

  get #clock(): () => number {
    return this.#options.clock ?? Date.now
  }

  get #embed(): Embed | undefined {
    return this.#options.embed ?? this.settings.embed
  }

  get #tools(): ToolTable | undefined {
    return this.#options.tools ?? this.settings.tools
  }

  /** Opens a session that was recorded elsewhere. If it is missing, it is created from its events, with their times. */
  async recorded(id: string, { events, ...options }: OpenOptions & { events: readonly Timed[] }): Promise<Session> {
    const at = events[0]?.at ?? this.#clock()
    const { fold } = await this.with({ clock: () => at }).session(id, options)
    if (fold.entries.length === 0) await new Ledger(this.#store, id).appendTimed(events)
    return this.session(id)
  }

  /** The name that a session from another home gets here. If this engine belongs to one user, the owner is left out. */
  nameHere(id: string): string {
    return this.#owner === undefined ? id : ownerIn(id).name
  }

  /** Writes a session from an export, or the missing rest of it. A policy that is unknown here becomes the default. */
  async restore(id: string, { meta, ...whole }: Omit<ToRestore, 'meta'> & { meta: Meta }): Promise<Restored> {
    checkName(this.#placed(id).name)
    const { settings } = this
    const ours = () => plannerNamed(defaultPlanner(settings, meta.about), settings, meta.about)
    const { name: policy } = findPlanner(meta.policy, settings, meta.about) ?? ours()
    return restoreEvents(this.#store, id, { ...whole, meta: JSON.stringify({ ...meta, policy }) })
  }

  /** The sessions, most recently used first. */
  async sessions(options: Omit<ListOptions, 'prefix'> = {}): Promise<SessionInfo[]> {
    return (await this.#store.list(options)).map(row => this.#toInfo(row))
  }

  /** Gives a session a title. An empty title removes it, and the first request is the title again. */
  async entitle(id: string, given: string): Promise<void> {
    const title = toTitle(given)
    await this.#describe(id, ({ title: _, ...about }) => ({ ...about, ...(title ? { title } : {}) }))
  }

  /** Replaces the tags of a session. Gives them as they are kept. */
  async setTags(id: string, given: readonly string[]): Promise<string[]> {
    const tags = toTags(given)
    await this.#describe(id, ({ tags: _, ...about }) => ({ ...about, ...(tags.length > 0 ? { tags } : {}) }))
    return tags
  }

  async #describe(id: string, change: (about: About) => About): Promise<void> {
    const row = await this.#store.find(id)
    if (!row) throw noSession(id)
    const meta: Meta = parseJson(row.meta)
    await this.#store.setMeta(id, JSON.stringify({ ...meta, about: change(meta.about ?? {}) }))
  }

  /** The session's row in the list; `undefined` if there is no session of that name. */
  async find(id: string): Promise<SessionInfo | undefined> {
    const row = await this.#store.find(id)
    return row && this.#toInfo(row)
  }

  async mustFind(id: string): Promise<SessionInfo> {
    const info = await this.find(id)
    if (info) return info
    throw noSession(id)
  }

  /** The end of a session's chain. Throws if the ledger does not verify up to it. */
  async head(id: string): Promise<PrintedHead> {
    const ledger = new Ledger(this.#store, id)
    await ledger.load()
    const head = { session: id, ...ledger.head }
    const events = await ledger.verify(head)
    return { ...head, at: events[head.events - 1]?.at ?? (await this.find(id))!.createdAt }
  }

  /**
   * Permanently removes sessions, with the files that only they use, and leaves a tombstone for each. Their forks stay
   * complete. `by` is the person who asks for it. With `more`, the bytes leave the disk with the last removal.
   */
  async remove(ids: readonly string[], { by, more = false }: { by: string; more?: boolean }): Promise<Tombstone[]> {
    const kept = new Map<string | undefined, Set<string>>()
    for (const id of this.home === MEMORY ? [] : ids) {
      const { owner } = this.#placed(id)
      const paths = await filesOf(this.#store, this.files.of(owner), id)
      kept.set(owner, new Set([...(kept.get(owner) ?? []), ...paths]))
    }
    const removed = await this.#store.remove(ids, { at: this.#clock(), by })
    for (const [owner, paths] of kept) {
      const isNeighbour = ({ id }: SessionInfo) => this.#placed(id).owner === owner
      await dropUnnamed(this.#store, { files: this.files.of(owner), paths, others: everySession(this), isNeighbour })
    }
    if (!more) await this.#store.scrub()
    return removed
  }

  /**
   * Permanently redacts texts in sessions and in their files. Forks that share a changed event are changed too. Returns
   * all changed sessions. `by` is the person who asks for it.
   */
  async redact(ids: readonly string[], what: ToRedact, { by }: { by: string }): Promise<Redacted[]> {
    const redacted = await this.#store.redact(ids, what, { at: this.#clock(), by })
    const change = (text: string) => covered(text, placesIn(text, what))
    for (const { session } of this.home === MEMORY ? [] : redacted) {
      const files = this.filesOf(session)
      await rewriteFiles(files, await filesOf(this.#store, files, session), change)
    }
    for (const { session } of redacted)
      await leaveOutRedacted(await this.session(session, { mustExist: true, asGuest: true }))
    await this.#store.scrub()
    return redacted
  }

  /** The tombstones of removed sessions, oldest first. Throws if one is missing. */
  async tombstones(): Promise<Tombstone[]> {
    const tombstones = await this.#store.tombstones()
    // The tombstones of one user are not a chain.
    if (this.#owner === undefined) checkTombstones(tombstones)
    return tombstones
  }

  /** The names of sessions removed after the first `count` removals, and how many removals there are now. */
  async removedSince(count: number): Promise<{ names: string[]; count: number }> {
    const tombstones = await this.#store.tombstones(count)
    return { names: tombstones.map(({ session }) => session), count: (tombstones.at(-1)?.seq ?? count - 1) + 1 }
  }

  /** Searches the sessions that `among` accepts, or all, best hit first. `behind`: the index is still incomplete. */
  async recall(query: string, options: RecallAllOptions = {}): Promise<{ hits: SessionHit[]; behind: boolean }> {
    const { limit = 20, among, project, tag, ...rest } = options
    const isNarrowed = project !== undefined || tag !== undefined
    const chosen = isNarrowed ? await this.#chosen({ project, tag, among }) : among
    const index = await this.#store.index(chosen ? { among: chosen } : 'all')
    const embed = this.#embed
    const textOf = (place: Place) => pieceOf(this.#store, place)
    const by = embed && { meaning: meaningOf(embed), most: MOST_OF_ALL_BY_MEANING, textOf }
    const found = await search(index, query, { limit, ...rest }, by)
    return { hits: await describeHits(this.#store, found, query), behind: index.behind }
  }

  async #chosen({ project, tag, among = () => true }: Partial<Chosen>): Promise<(session: string) => boolean> {
    const ids = new Set<string>()
    const name = tag ?? (project === undefined ? undefined : folderName(project))
    // The store preselects sessions whose meta contains the name, as JSON writes it.
    const named = name === undefined ? {} : { contains: JSON.stringify(name).slice(1, -1) }
    for await (const { id, about } of everySession(this, named)) {
      if (project !== undefined && !isInProject(about.project, project)) continue
      if (tag === undefined || about.tags?.includes(tag)) ids.add(id)
    }
    return id => ids.has(id) && among(id)
  }

  /**
   * The same sessions with early writes: a write resolves when it survives the end of this process, and `synced`
   * resolves when everything written so far survives a crash of the machine.
   */
  early(): { pal: Palimpsest; synced(): Promise<void> } {
    const early = this.#store.early?.()
    if (!early) return { pal: this, synced: async () => {} }
    return { pal: new Palimpsest(this.home, early.store, this.#options, this.#owner), synced: early.synced }
  }

  async close(): Promise<void> {
    await this.#store.close()
    await this.files.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #placed(id: string): { owner: string | undefined; name: string } {
    return this.#owner === undefined ? ownerIn(id) : { owner: this.#owner, name: id }
  }

  #toInfo({ meta, ...row }: SessionRow): SessionInfo {
    const known: Partial<Meta> = parseJson(meta)
    const { policy = DEFAULT_PLANNER, model = DEFAULT_MODEL, about = {}, ...rest } = known
    const { owner } = this.#placed(row.id)
    // The parent of a user's session belongs to the same user.
    const parent =
      about.parent === undefined || this.#owner !== undefined ? {} : { parent: wholeName(owner, about.parent) }
    return {
      ...row,
      policy,
      model,
      about: { ...about, ...parent },
      ...rest,
      ...(owner === undefined ? {} : { owner }),
    }
  }

  /** The files beside the ledger: those of each user, and those of the home itself. */
  get files(): HomeFiles {
    return this.#options.files
  }

  /** The files of the user who owns a session. */
  filesOf(id: string): FileStore {
    return this.files.of(this.#placed(id).owner)
  }

  async #keepFile(id: string, path: string, text: string): Promise<void> {
    if (this.home === MEMORY) throw new PalimpsestError('STORE_READONLY', 'a session in memory keeps no files')
    await keepFile(this.filesOf(id), path, text)
  }

  /** Where archives and log lines go when old entries are summarised, and the path at which the user finds them. */
  #records(id: string, clock: () => number): Pick<SessionOptions, 'home' | 'readsFiles' | 'archive' | 'log'> {
    const { owner } = this.#placed(id)
    const files = this.files.of(owner)
    const own = owner === undefined ? this.#options.workspace : undefined
    const folder = own ?? this.files.of(owner, 'workspace')
    return {
      home: files.folder,
      readsFiles: !files.isTable,
      archive: (path, text) => keepArchive(files, path, text),
      log: async line => void (await logDay({ folder, now: clock }, line)),
    }
  }
}

/** Prices of the given day, but never older than the table: a replay of an old session uses today's prices. */
function dayAndTtl(now: number, cacheTtl: string | undefined): ModelUse {
  return { at: Math.max(now, Date.parse(PRICES_AS_OF)), cacheTtl }
}

const LONGEST_NAME = 200

function checkName(name: string): void {
  if (name && name.length <= LONGEST_NAME) return
  throw new PalimpsestError('INVALID_INPUT', `A session needs a name of 1–${LONGEST_NAME} characters.`)
}
