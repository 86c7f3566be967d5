/**
 * The one object that every door holds: a home with a ledger in it, and the sessions.
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
import { ownedBy, ownerIn, userFolder } from '../ledger/owners.ts'
import { covered, placesIn, type Redacted, type ToRedact } from '../ledger/redaction.ts'
import { type Restored, restoreEvents, type ToRestore } from '../ledger/restore.ts'
import type { LedgerStore, ListOptions, SessionRow } from '../ledger/store.ts'
import { checkTombstones, type Tombstone } from '../ledger/tombstones.ts'
import { logDay } from '../memory/workspace.ts'
import { DEFAULT_PLANNER, homeIn, MEMORY } from '../model/defaults.ts'
import { PalimpsestError } from '../model/errors.ts'
import { parseJson } from '../model/json.ts'
import { Listeners } from '../model/listeners.ts'
import { IDS_OVER, withIds } from '../policies/ids.ts'
import type { PlannerFactory } from '../policies/policy.ts'
import { DEFAULT_MODEL, type ModelTable, type ModelUse, modelInfo, PRICES_AS_OF } from '../providers/models.ts'
import type { Place } from '../recall/index.ts'
import { type Embed, meaningOf } from '../recall/meaning.ts'
import { type Found, search } from '../recall/search.ts'
import type { WriteSummary } from '../summaries/model-summary.ts'
import { type Config, type Settings, settingsFor } from './config.ts'
import { everySession } from './every-session.ts'
import { defaultPlanner, findPlanner, type PlannerChoice, plannerNamed } from './planners.ts'
import { isInProject, lastStep, MOST_OF_ALL_BY_MEANING, type RecallHit, type RecallOptions } from './recall.ts'
import { leaveOutRedacted } from './redacting.ts'
import { Session } from './session.ts'
import { dropUnnamed, filesOf, keepArchive, keepFile, rewriteFiles } from './session-files.ts'
import { aboutOf, type Meta, type SessionInfo, toTags, wholeName } from './session-info.ts'
import { type About, type SessionOptions, toldToPlanner } from './session-options.ts'
import { SessionState } from './state.ts'

export type { SessionInfo } from './session-info.ts'

export type PalimpsestOptions = {
  /** A folder, or ':memory:'. The environment variable PALIMPSEST_HOME, or `.agent`, by default. */
  home?: string
  /** Another store than the SQLite file in the home. */
  store?: LedgerStore
  /** The PostgreSQL database of the ledger: what PALIMPSEST_DATABASE_URL says by default, `false` for the file in the home. */
  databaseUrl?: string | false
  clock?: () => number
  models?: ModelTable
  tools?: ToolTable
  /** Keeps a file that an edit points to, in place of the folder in the home. */
  keepFile?: (path: string, text: string) => Promise<void>
  /** Gives texts their vectors: recall then orders what it finds by meaning, too. */
  embed?: Embed
  /** Has a model write the summaries that policies plan; ours are used where it fails. */
  summarize?: WriteSummary
  /** The workspace whose daily log gets a line when old entries are summarised; the one in the home unless given. */
  workspace?: Files
  /**
   * A configuration, or the path of one; `false` for none. By default `palimpsest.json` in the folder that holds
   * the home, if it is there. What is given here as an option comes before what it says.
   */
  config?: Config | string | false
}

export type OpenOptions = {
  /** A preset by name, a planner, or a policy that is applied at every turn. */
  planner?: PlannerChoice
  /** @deprecated The old name of `planner`. */
  policy?: PlannerChoice
  model?: string
  /** The cache lifetime that requests ask for, by the provider's name of it (`5m`, `1h`); the provider's default unless given. */
  cacheTtl?: string
  /** Milliseconds for which the provider was seen to keep a prefix, where that is longer than it says. */
  cacheKept?: number
  /** Tokens of system prompt and tools that are sent in front of the messages. */
  overhead?: number
  /** Ids at the end of large results, for the context tool: over how many characters; `true` for 2000. */
  ids?: boolean | number
  /** The tool by which the agent saves what it must not lose; warnings name it. */
  saveWith?: string
  /** Whether the provider can be told to clear the oldest results itself. */
  serverClears?: boolean
  /** The tool by which the agent finds what was shortened (`recall`); `false` where it has none, so that no text names it. */
  recallWith?: string | false
  /** Fails when there is no such session. */
  mustExist?: boolean
  /** What the session is; what is left out stays as it was. */
  about?: About
  /** Options given here count for this opening and for forks made from it; an existing session keeps its own. */
  asGuest?: boolean
}

/** A hit with the session that it is in. */
export type SessionHit = RecallHit & { session: string }

export type RecallAllOptions = RecallOptions & {
  /** Which sessions; all of the home unless given. */
  among?: (session: string) => boolean
  /** Only sessions that worked in this folder or inside it; the end of a path is enough. */
  project?: string
  /** Only sessions with this tag. */
  tag?: string
  /** Opens a session for the doors that keep theirs. */
  open?: (session: string) => Promise<Session>
}

type Chosen = { [K in 'project' | 'tag' | 'among']: RecallAllOptions[K] | undefined }

/** `read`: what the configuration says, shared by all that `of` and `with` give. */
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
  /** The user whose sessions these are; all of the home's where nobody is named. */
  readonly #owner: string | undefined

  constructor(home: string, store: LedgerStore, options: EngineOptions, owner?: string) {
    this.home = home
    this.#store = store
    this.#options = options
    this.#owner = owner
  }

  /**
   * The same home for one of its users: their sessions under their own names, and nothing of anybody else's. What is
   * kept beside the ledger goes to their folder. From the home itself, their sessions are called `@user/name`.
   */
  of(owner: string): Palimpsest {
    return new Palimpsest(this.home, ownedBy(owner, this.#store), this.#options, owner)
  }

  /** A user's own rows of the table of models. */
  get models(): ModelTable {
    return this.#options.models ?? this.settings.models ?? {}
  }

  /** What the configuration says; another object after it was read again. */
  get settings(): Settings {
    return this.#options.read.settings
  }

  /** Reads the configuration again: sessions that are opened from now on go by it. */
  async reconfigure(): Promise<void> {
    this.#options.read.settings = await settingsFor(this.home, this.#options.config)
  }

  /** The planner of sessions that say none themselves. */
  plannerFor(about: About): string | PlannerFactory {
    return defaultPlanner(this.settings, about)
  }

  /** The same sessions, with some options of their own. */
  with(options: Pick<PalimpsestOptions, 'summarize' | 'workspace' | 'clock'>): Palimpsest {
    return new Palimpsest(this.home, this.#store, { ...this.#options, ...options }, this.#owner)
  }

  /** Calls the listener when a session of this process grows; the answer stops that. */
  onChange(listener: (change: SessionChange) => void): () => void {
    return this.#options.changes.listen(listener)
  }

  /** Opens a session, or makes it. What is not given is as it was when the session was last opened. */
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
    await state.load()
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

  /** What the ledger remembers of a session: what is given now, then what it had, then the configuration. */
  #metaOf(stored: Partial<Meta>, options: OpenOptions): Meta {
    const { settings } = this
    const told = aboutOf(stored.about, options.about)
    const given = options.planner ?? options.policy ?? stored.policy ?? defaultPlanner(settings, told.about)
    const cacheTtl = options.cacheTtl ?? stored.cacheTtl ?? settings.cacheTtl
    const cacheKept = options.cacheKept ?? stored.cacheKept
    const overhead = options.overhead ?? stored.overhead ?? settings.overhead ?? 0
    const ids = options.ids === true ? IDS_OVER : options.ids === undefined ? stored.ids : options.ids || undefined
    return {
      policy: plannerNamed(given, settings, told.about).name,
      model: options.model ?? stored.model ?? settings.model ?? DEFAULT_MODEL,
      ...(cacheTtl === undefined ? {} : { cacheTtl }),
      ...(cacheKept === undefined ? {} : { cacheKept }),
      ...(overhead > 0 ? { overhead } : {}),
      ...(ids === undefined ? {} : { ids }),
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

  /** Opens a session that was recorded elsewhere; makes it of its events, at their times, where it is not there yet. */
  async recorded(id: string, { events, ...options }: OpenOptions & { events: readonly Timed[] }): Promise<Session> {
    const session = await this.session(id, options)
    if (session.fold.entries.length > 0) return session
    await new Ledger(this.#store, id).appendTimed(events)
    return this.session(id)
  }

  /** What a session of another home would be called in this one: by its name alone where all are of one user. */
  nameHere(id: string): string {
    return this.#owner === undefined ? id : ownerIn(id).name
  }

  /** Writes a session as an export has it, or what is missing of it. A policy that is not known here becomes the default. */
  async restore(id: string, { meta, ...whole }: Omit<ToRestore, 'meta'> & { meta: Meta }): Promise<Restored> {
    checkName(this.#placed(id).name)
    const { settings } = this
    const ours = () => plannerNamed(defaultPlanner(settings, meta.about), settings, meta.about)
    const { name: policy } = findPlanner(meta.policy, settings, meta.about) ?? ours()
    return restoreEvents(this.#store, id, { ...whole, meta: JSON.stringify({ ...meta, policy }) })
  }

  /** The sessions, the last used first. */
  async sessions(options: Omit<ListOptions, 'prefix'> = {}): Promise<SessionInfo[]> {
    return (await this.#store.list(options)).map(row => this.#toInfo(row))
  }

  /** Gives a session a title; an empty one takes it back, and the first request is its title again. */
  async entitle(id: string, title: string): Promise<void> {
    await this.#describe(id, ({ title: _, ...about }) => ({ ...about, ...(title ? { title } : {}) }))
  }

  /** Gives a session these tags and no others; says how they are kept. */
  async setTags(id: string, given: readonly string[]): Promise<string[]> {
    const tags = toTags(given)
    await this.#describe(id, ({ tags: _, ...about }) => ({ ...about, ...(tags.length > 0 ? { tags } : {}) }))
    return tags
  }

  async #describe(id: string, change: (about: About) => About): Promise<void> {
    const row = await this.#store.find(id)
    if (!row) throw new PalimpsestError('SESSION_NOT_FOUND', `There is no session ${id}.`, { session: id })
    const meta: Meta = parseJson(row.meta)
    await this.#store.setMeta(id, JSON.stringify({ ...meta, about: change(meta.about ?? {}) }))
  }

  /** What the list says of one session; `undefined` where there is none of that name. */
  async find(id: string): Promise<SessionInfo | undefined> {
    const row = await this.#store.find(id)
    return row && this.#toInfo(row)
  }

  /** Where the chain of a session ends. Throws where the ledger does not verify up to there. */
  async head(id: string): Promise<PrintedHead> {
    const ledger = new Ledger(this.#store, id)
    await ledger.load()
    const head = { session: id, ...ledger.head }
    const events = await ledger.verify(head)
    return { ...head, at: events[head.events - 1]?.at ?? (await this.find(id))!.createdAt }
  }

  /**
   * Removes sessions for good, with the files that only they point to, and leaves a tombstone for each. Forks of them
   * stay whole. `by` is who wants it. With `more` to come, their bytes leave the disk with the last removal.
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
   * Covers texts in sessions, and in the files that they point to, for good. Forks that share what is changed are
   * changed too. Gives every session that was. `by` is who wants it.
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

  /** What is left of the sessions that were removed, the first one first. Throws where one is missing. */
  async tombstones(): Promise<Tombstone[]> {
    const tombstones = await this.#store.tombstones()
    // Those of one user are no chain.
    if (this.#owner === undefined) checkTombstones(tombstones)
    return tombstones
  }

  /** The names of sessions that were removed since there were so many, and how many there are now. */
  async removedSince(count: number): Promise<{ names: string[]; count: number }> {
    const tombstones = await this.#store.tombstones(count)
    return { names: tombstones.map(({ session }) => session), count: (tombstones.at(-1)?.seq ?? count - 1) + 1 }
  }

  /**
   * Searches several sessions, best first: those that `among` lets through, or all. `behind` says that the index is
   * still being filled with what an earlier version wrote.
   */
  async recall(query: string, options: RecallAllOptions = {}): Promise<{ hits: SessionHit[]; behind: boolean }> {
    const { limit = 20, open = id => this.session(id, { mustExist: true }), among, project, tag, ...rest } = options
    const isNarrowed = project !== undefined || tag !== undefined
    const chosen = isNarrowed ? await this.#chosen({ project, tag, among }) : among
    const index = await this.#store.index(chosen ? { among: chosen } : 'all')
    const embed = this.#embed
    const opened = new Map<string, Promise<Session>>()
    const openOnce = (id: string) => {
      const session = opened.get(id) ?? open(id)
      opened.set(id, session)
      return session
    }
    const textOf = async (place: Place) => (await openOnce(place.session)).pieceOf(place)
    const by = embed && { meaning: meaningOf(embed), most: MOST_OF_ALL_BY_MEANING, textOf }
    const found = await search(index, query, { limit, ...rest }, by)
    const bySession = Map.groupBy(found, hit => hit.session)
    const placed = new Map<Found, SessionHit>()
    for (const [id, own] of bySession) {
      const session = await openOnce(id)
      for (const one of own)
        for (const hit of await session.describe([one], query)) placed.set(one, { session: id, ...hit })
    }
    return { hits: found.flatMap(one => placed.get(one) ?? []), behind: index.behind }
  }

  async #chosen({ project, tag, among = () => true }: Partial<Chosen>): Promise<(session: string) => boolean> {
    const ids = new Set<string>()
    const name = tag ?? (project === undefined ? undefined : lastStep(project))
    // The store gives those that may be meant: their meta holds the name, as JSON writes it.
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
    // A parent that a user's session names is the user's, too.
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

  /** The files beside the ledger: of each user, and of the home itself. */
  get files(): HomeFiles {
    return this.#options.files
  }

  /** Those of the user whom a session belongs to. */
  filesOf(id: string): FileStore {
    return this.files.of(this.#placed(id).owner)
  }

  /** Files that edits point to. */
  async #keepFile(id: string, path: string, text: string): Promise<void> {
    if (this.home === MEMORY) throw new PalimpsestError('STORE_READONLY', 'a session in memory keeps no files')
    await keepFile(this.filesOf(id), path, text)
  }

  /** What is kept beside the ledger when old entries are summarised, and where the user finds it. */
  #records(id: string, clock: () => number): Pick<SessionOptions, 'home' | 'archive' | 'log'> {
    const { owner } = this.#placed(id)
    const files = this.files.of(owner)
    const own = owner === undefined ? this.#options.workspace : undefined
    const folder = own ?? this.files.of(owner, 'workspace')
    return {
      home: owner === undefined ? this.home : userFolder(this.home, owner),
      archive: (path, text) => keepArchive(files, path, text),
      log: async line => void (await logDay({ folder, now: clock }, line)),
    }
  }
}

/** Prices of the day, but none older than the table: a replay of an old session is priced as one of today. */
function dayAndTtl(now: number, cacheTtl: string | undefined): ModelUse {
  return { at: Math.max(now, Date.parse(PRICES_AS_OF)), cacheTtl }
}

const LONGEST_NAME = 200

function checkName(name: string): void {
  if (name && name.length <= LONGEST_NAME) return
  throw new PalimpsestError('INVALID_INPUT', `A session needs a name of 1–${LONGEST_NAME} characters.`)
}
