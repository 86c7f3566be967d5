/**
 * One conversation, with its changes: append, sync, view, edit, undo, redo, pin, fork. Reading is in look.ts.
 *
 * All state is in the ledger (state.ts); the methods here translate requests into events. A session can be closed and
 * opened again, by another process too, at any time.
 */

import { type EditOperation, type Resolved, resolveOperations } from '../asked/context-edits.ts'
import { redactAgain } from '../ledger/redaction.ts'
import type { LedgerStore } from '../ledger/store.ts'
import { PalimpsestError } from '../model/errors.ts'
import { headOf } from '../model/text.ts'
import type { Author, Edit, Event, Message, Part, Told, Usage } from '../model/types.ts'
import { messagesOf } from '../view/edits.ts'
import { activeEdits, type Fold } from '../view/fold.ts'
import { firstSpeaker } from '../view/legality.ts'
import { legalize } from '../view/legalize.ts'
import { inPresentForm, syncPlan } from '../view/sync.ts'
import { checkGrown, isChangedMeanwhile } from './contention.ts'
import { Look, type LookContext, type Restored } from './look.ts'
import type { View } from './session-view.ts'
import type { SessionState } from './state.ts'

export type EditResult = {
  edits: Edit[]
  replacements: {
    operation: EditOperation
    entry: number
    originalLength: number
    newLength: number
    tokensSaved: number
  }[]
  tokensSaved: number
}

/** Opens another session with the options of this one. `parent` is recorded for a new session that shares no events. */
type Opener = (id: string, about?: { parent: string }) => Promise<Session>

/** Fork names contain at most this many characters of the session's name, so that with the number they stay valid. */
const LONGEST_BASE = 180
/** How often a conversation is compared again with a session to which others write. */
const MAX_TRIES = 10

export class Session extends Look {
  readonly #store: LedgerStore
  readonly #state: SessionState
  readonly #open: Opener
  /** The messages that the client sent last. They equal this fold's entries as long as the counts are equal. */
  #synced: { messages: readonly Message[]; fold: Fold } | undefined

  /** The system prompt as it was first recorded, once it has been looked up. */
  #firstPrompt: Message | undefined

  /** Use `pal.session(id)`. */
  constructor(state: SessionState, context: LookContext & { open: Opener }) {
    super(state, context)
    this.#state = state
    this.#store = context.store
    this.#open = context.open
  }

  /** Adds messages, all or none; durable when it resolves. Gives the numbers of the new entries. */
  append(...messages: Message[]): Promise<number[]> {
    return this.#state.append(...messages)
  }

  /**
   * The messages to send now. Plans and records edits first, unless `plan` is false. Reads what others have written,
   * unless the session already has the given `length`.
   */
  override view(options: { plan?: boolean; now?: number; length?: number } = {}): Promise<View> {
    return this.#state.view(options)
  }

  /**
   * Brings the ledger up to a conversation that a client keeps itself, and gives its view. New messages are appended;
   * if the client went back and continued differently, the view comes from a fork.
   */
  async sync(messages: readonly Message[]): Promise<View & { session: Session }> {
    const view = await this.follow(messages)
    const { fold, options, openCalls: open } = view.session
    const rules = { dialect: options.model.dialect, began: firstSpeaker(fold.entries), open }
    view.messages = [...legalize(inPresentForm(fold, messages), rules).messages]
    return view
  }

  /** Like `sync`, but the view shows messages in the form in which they were first recorded. */
  async follow(messages: readonly Message[]): Promise<View & { session: Session }> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#follow(redactAgain(messages, this.#state.redactions), messages)
      } catch (error) {
        // Others have added to the session or redacted it: read it again, and compare again.
        if (!isChangedMeanwhile(error) || tries === MAX_TRIES) throw error
        await this.view({ plan: false })
      }
    }
  }

  /** `sent`: the client's messages, before texts in them are redacted. */
  async #follow(messages: readonly Message[], sent: readonly Message[]): Promise<View & { session: Session }> {
    const { fold } = this.#state
    if (this.#synced?.fold !== fold) this.#synced = this.#firstPrompt = undefined
    const isKnown = this.#synced?.messages.length === fold.entries.length
    const known = isKnown ? this.#synced!.messages : await this.#state.messages()
    const { length } = known
    const plan = syncPlan(known, messages, await this.#systemPrompt())
    if (plan.kind === 'fork') {
      const other = plan.at < 0 ? await this.#startedAnew() : await this.#fork(plan.at, sent)
      return other.follow(sent)
    }
    if (plan.edit) await this.#state.apply([{ ...plan.edit, by: 'engine', why: 'the client changed this message' }])
    const fresh = plan.append.length > 0
    const view = await (fresh ? this.#state.appendAndView(plan.append, length) : this.view())
    if (!fresh) checkGrown(this.id, length, fold.entries.length)
    this.#synced = { messages: [...messages], fold }
    return Object.assign(view, { session: this as Session })
  }

  /** A session for a conversation that shares only its client with this one. */
  async #startedAnew(): Promise<Session> {
    return this.#open(await this.#freeName(), { parent: this.id })
  }

  /** Discards, distills or replaces texts in the view; all operations or none. */
  async edit(operations: readonly EditOperation[], by: Author = 'agent', reason = ''): Promise<EditResult> {
    await this.view({ plan: false })
    const resolved = resolveOperations(this.#state.fold, operations)
    const edits = await this.#state.apply(resolved.map(target => toRequest(target, by, reason)))
    const replacements = resolved.map(({ operation, entry, originalLength, newLength }, i) => {
      return { operation, entry, originalLength, newLength, tokensSaved: edits[i]!.saved }
    })
    return { edits, replacements, tokensSaved: edits.reduce((sum, edit) => sum + edit.saved, 0) }
  }

  /** Records edits whose targets are places in the originals. */
  apply(edits: readonly Pick<Edit, 'target' | 'replacement' | 'why' | 'mark'>[], by: Author = 'user'): Promise<Edit[]> {
    return this.#state.apply(edits.map(edit => ({ ...edit, by })))
  }

  /** Undoes one or several edits, all or none. */
  undo(edits: string | readonly string[], by: Author = 'user'): Promise<void> {
    return this.#state.switch('revert', [edits].flat(), by)
  }

  /** Puts undone edits in force again, all or none. */
  redo(edits: string | readonly string[], by: Author = 'user'): Promise<void> {
    return this.#state.switch('reapply', [edits].flat(), by)
  }

  /** Protects this entry, or a part of it, from every edit except the user's. */
  pin(entry: number, options: { part?: number; on?: boolean; by?: Author } = {}): Promise<void> {
    return this.#state.pin(entry, options)
  }

  /** Creates a session with everything up to and including an entry; the default is the last one. */
  fork(at?: number, id?: string): Promise<Session> {
    return this.#fork(at, [], id)
  }

  async #fork(at: number | undefined, sent: readonly Message[], id?: string): Promise<Session> {
    const name = id ?? (await this.#freeName())
    if (await this.#store.find(name)) {
      throw new PalimpsestError('ALREADY', `The session ${name} already exists. Choose another name.`, {
        session: name,
      })
    }
    await this.#state.forkTo(name, at, sent)
    return this.#open(name)
  }

  /** Adds an original to the end of the view, where it causes no cache miss. Takes the id of an edit or of a part. */
  async restore(id: string): Promise<Restored> {
    const restored = await this.original(id)
    const { entry, text, images } = restored
    if (this.#state.openCalls.length > 0) return restored
    const shownText = `[Restored from entry ${entry}]\n${text}`
    const target = { type: 'after' as const, entry: this.#state.fold.entries.length - 1 }
    const parts: Part[] = [{ type: 'text', text: shownText }, ...images]
    const replacement = { messages: [{ role: 'user' as const, parts }] }
    const [edit] = await this.apply([{ target, replacement, why: `restored ${id}` }], 'user')
    return edit ? { ...restored, edit } : restored
  }

  reportUsage(usage: Usage, told: Told = {}): Promise<void> {
    return this.#state.reportUsage(usage, told)
  }

  record(event: Extract<Event, { type: 'usage' | 'file' | 'decision' }>): Promise<void> {
    return this.#state.record(event)
  }

  /** The client's first message in its newest form. */
  async #systemPrompt(): Promise<Message | undefined> {
    const changes = [...activeEdits(this.fold)].filter(({ by, target }) => {
      return by === 'engine' && target.type === 'entry' && target.entry === 0
    })
    const newest = changes.at(-1)
    if (newest) return messagesOf(newest)[0]
    if (this.fold.entries[0]?.role !== 'system') return undefined
    return (this.#firstPrompt ??= await this.#state.original(0))
  }

  /** Forks of a fork are numbered with those of the first session, so that names do not grow. */
  async #freeName(): Promise<string> {
    let first = this.id
    while (/-fork-\d+$/.test(first)) first = first.replace(/-fork-\d+$/, '')
    const base = headOf(first, LONGEST_BASE)
    const isTaken = async (n: number) => (await this.#store.find(`${base}-fork-${n}`)) !== undefined
    let high = 1
    while (await isTaken(high)) high *= 2
    // The number before `low` is taken; `high` is free.
    for (let low = Math.floor(high / 2) + 1; low < high; ) {
      const middle = Math.floor((low + high) / 2)
      if (await isTaken(middle)) low = middle + 1
      else high = middle
    }
    return `${base}-fork-${high}`
  }
}

/** Characters of a reason that are kept with an edit. */
const LONGEST_REASON = 500

function toRequest(
  { target, replacement, why }: Resolved,
  by: Author,
  reason: string,
): Pick<Edit, 'target' | 'replacement' | 'by' | 'why'> {
  return {
    target,
    replacement,
    why: reason.trim() === '' ? why : `${why}: ${headOf(reason.trim(), LONGEST_REASON)}`,
    by,
  }
}
