/**
 * The generated history of a session: entries are appended, calls are answered now, later or never, and edits of every
 * kind are tried at any time, even during open calls, undone and redone in any order.
 *
 * After every operation the session is reopened from its ledger and compared with the one in memory and with the view
 * by definition (reference.ts). Every view is legal, no undo is refused, and an entry without edits is in view. Recall,
 * which does not use the fold, agrees with it about its hits. At the end everything is undone in a generated order, and
 * the view equals the view without edits.
 */
import assert from 'node:assert/strict'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { isPalimpsestError } from '../../src/model/errors.ts'
import { leavesOf, textOf } from '../../src/model/leaves.ts'
import type { Edit, Message, Part, Replacement, Target } from '../../src/model/types.ts'
import { openPalimpsest, type Palimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { entriesOf } from '../../src/view/edits.ts'
import { hiddenByUser } from '../../src/view/hidden.ts'
import { checkView, firstSpeaker, waitingCalls } from '../../src/view/legality.ts'
import { legalize } from '../../src/view/legalize.ts'
import { partId, shownParts } from '../../src/view/shown-texts.ts'
import * as fc from '../property.ts'
import { withoutMarks } from './law.ts'
import { type Applied, referenceView } from './reference.ts'

const NOW = 1000
const MODELS = ['claude-sonnet-4-5', 'gpt-4o', 'gpt-5', 'gemini-2.5-pro']

const ADDS = ['user', 'assistant', 'calls', 'answer', 'late', 'empty'] as const
const EDITS = ['part', 'drop', 'leaf', 'span', 'entry', 'range', 'range', 'insert', 'batch'] as const
const SWITCHES = ['undo', 'undo', 'redo'] as const

/** Numbers in an operation are scaled to the session at that moment. */
export type Operation = {
  kind: (typeof ADDS)[number] | (typeof EDITS)[number] | (typeof SWITCHES)[number]
  at: number
  size: number
  pick: number
  text: string
}

const operation: fc.Arbitrary<Operation> = fc.record({
  kind: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...ADDS) },
    { weight: 4, arbitrary: fc.constantFrom(...EDITS) },
    { weight: 2, arbitrary: fc.constantFrom(...SWITCHES) },
  ),
  at: fc.nat(1000),
  size: fc.nat(6),
  pick: fc.nat(7),
  text: fc.constantFrom('short', '', ' ', 'two\nlines', '🙂🙂', 'the same text once more'),
})

export type History = { model: string; operations: Operation[]; order: number[] }

export const history: fc.Arbitrary<History> = fc.record({
  model: fc.constantFrom(...MODELS),
  operations: fc.array(operation, { minLength: 1, maxLength: 40, size: 'max' }),
  order: fc.array(fc.nat(1000), { minLength: 12, maxLength: 12 }),
})

/** The codes with which an edit may be refused; an undo is never refused. */
const REFUSALS = new Set(['VIEW_ILLEGAL', 'EDITS_OVERLAP', 'ENTRY_NOT_FOUND'])

/** Plays a history and returns the number of its operations. */
export async function checkHistory({ model, operations, order }: History): Promise<number> {
  const store = new SqliteLedger(':memory:')
  const pal = await openPalimpsest({ home: ':memory:', store, clock: () => NOW })
  const life = await Life.begin(pal, model)
  try {
    for (const each of operations) await life.take(each)
    await life.compareHits()
    await life.undoAll(order)
    return life.steps
  } finally {
    await pal.close()
  }
}

class Life {
  readonly #pal: Palimpsest
  readonly #model: string
  #session: Session
  /** The appended messages, unchanged. */
  readonly #entries: Message[] = []
  #calls = 0
  steps = 0

  private constructor(pal: Palimpsest, model: string, session: Session) {
    this.#pal = pal
    this.#model = model
    this.#session = session
  }

  static async begin(pal: Palimpsest, model: string): Promise<Life> {
    return new Life(pal, model, await pal.session('s', { policy: 'none', model }))
  }

  async take(given: Operation): Promise<void> {
    const { kind } = given
    if (kind === 'undo' || kind === 'redo') await this.#switch(kind, given.at)
    else if (isAddition(kind)) await this.#add(given)
    else await this.#edit(given)
    await this.#compare()
  }

  async compareHits(): Promise<void> {
    const { fold } = this.#session
    for (const hit of await this.#session.recall('short two lines same text bash', { limit: 100 })) {
      const { entry, part, snippet, inView, hidden = false } = hit
      const shown = [...shownParts(fold, entry)].find(own => own.part === part)?.shown
      const isShown = shown !== undefined && textOf(shown).includes(snippet)
      const isHidden = !isShown && hiddenByUser(fold, entry, part) !== undefined
      assert.deepEqual([inView, hidden], [isShown, isHidden], `of entry ${entry}, part ${part}`)
      assert.equal(hit.hash, partId(entry, part, this.#entries[entry]!.parts[part]!))
    }
  }

  /** Undoes every active edit, including the engine's, in any order: none is refused. */
  async undoAll(order: readonly number[]): Promise<void> {
    for (let n = 0; ; n++) {
      const active = this.#session.edits().filter(record => record.active)
      if (active.length === 0) break
      await this.#session.undo(active[order[n % order.length]! % active.length]!.edit.id)
      await this.#compare()
    }
    const view = await this.#session.view({ plan: false })
    const { messages } = legalize(this.#entries, this.#rules())
    assert.deepEqual(view.messages, messages, 'apply and revert: nothing happened')
  }

  async #switch(kind: 'undo' | 'redo', at: number): Promise<void> {
    const records = this.#session.edits().filter(({ active }) => active === (kind === 'undo'))
    const record = records[at % records.length]
    if (!record) return
    if (kind === 'undo') return this.#session.undo(record.edit.id)
    await refusable(this.#session.redo(record.edit.id))
  }

  async #add({ kind, at, size, text }: Operation): Promise<void> {
    const message = this.#message(kind, { at, size, text })
    if (!message) return
    await this.#session.append(message)
    this.#entries.push({ ...message, at: NOW })
  }

  #message(kind: Operation['kind'], { at, size, text }: Pick<Operation, 'at' | 'size' | 'text'>): Message | undefined {
    const said: Part = { type: 'text', text: `${text} ${this.steps}` }
    switch (kind) {
      case 'user':
      case 'assistant':
        return { role: kind, parts: [said] }
      case 'empty':
        return { role: at % 2 ? 'user' : 'assistant', parts: at % 3 ? [{ type: 'text', text: ' ' }] : [] }
      case 'calls': {
        const calls = Array.from({ length: 1 + (size % 3) }, (): Part => {
          return { type: 'tool-call', id: `c${this.#calls++}`, name: 'bash', input: { command: text } }
        })
        return { role: 'assistant', parts: at % 2 ? [said, ...calls] : calls }
      }
      default:
        return this.#result(kind === 'late', at, said)
    }
  }

  /** A result of a call that waits, or of one that was answered by the engine. */
  #result(late: boolean, at: number, said: Part): Message | undefined {
    const entries = this.#entries
    const answered = new Set(entries.flatMap(({ parts }) => parts.flatMap(p => (p.type === 'tool-result' ? p.id : []))))
    const open = entries.flatMap(({ parts }) =>
      parts.flatMap(part => (part.type === 'tool-call' && !answered.has(part.id) ? [part.id] : [])),
    )
    const id = late ? open[at % open.length] : open.at(-1 - (at % Math.max(1, Math.min(open.length, 2))))
    if (id === undefined) return undefined
    const image: Part = { type: 'image', mediaType: 'image/png', data: 'AAAA' }
    const output = at % 5 === 0 ? [said, image] : leavesOf(said)[0]!
    return { role: 'tool', parts: [{ type: 'tool-result', id, name: 'bash', output }] }
  }

  async #edit(given: Operation): Promise<void> {
    const { length } = this.#session.fold.entries
    if (length === 0) return
    const kinds = given.kind === 'batch' ? (['range', 'entry'] as const) : [given.kind]
    const edits = kinds.flatMap((kind, i) => this.#toEdit({ ...given, kind, at: given.at + i * (1 + given.pick) }))
    if (edits.length > 0) await refusable(this.#session.apply(edits, given.pick % 2 ? 'user' : 'agent'))
  }

  #toEdit({ kind, at, size, pick, text }: Operation): Pick<Edit, 'target' | 'replacement' | 'why'>[] {
    const entries = this.#entries
    // The newest entries are twice as likely, because open calls are there.
    const entry = at % 2 ? entries.length - 1 - (at % Math.min(3, entries.length)) : at % entries.length
    const { parts } = entries[entry]!
    const part = pick % Math.max(1, parts.length)
    const of = (target: Target, replacement: Replacement) => [{ target, replacement, why: 'generated' }]
    const messages = this.#shownInstead(entry, pick, text)
    switch (kind) {
      case 'entry':
        return of({ type: 'entry', entry }, { messages })
      case 'range':
        return of({ type: 'range', from: Math.max(0, entry - size), to: entry }, { messages })
      case 'insert':
        return of({ type: 'after', entry }, { messages })
      case 'part':
        return of({ type: 'part', entry, part }, parts[part]?.type === 'tool-call' ? { input: { text } } : text)
      case 'drop':
        return of({ type: 'part', entry, part }, null)
    }
    const leaf = parts[part] ? leavesOf(parts[part])[0] : undefined
    if (leaf === undefined) return []
    if (kind === 'leaf') return of({ type: 'part', entry, part, leaf: 0 }, text)
    const start = Math.min(leaf.length, size)
    return of({ type: 'part', entry, part, leaf: 0, span: [start, Math.min(leaf.length, start + pick)] }, text)
  }

  /** Usually a text; sometimes nothing, an entry of the session, or half a step. */
  #shownInstead(entry: number, pick: number, text: string): Message[] {
    const said: Message = { role: 'user', parts: [{ type: 'text', text: `[${text}]` }] }
    if (pick === 0) return []
    if (pick === 1) return [this.#entries[entry]!]
    if (pick === 2) return [said, ...this.#entries.slice(Math.max(0, entry - 1), entry + 1)]
    return [said]
  }

  async #compare(): Promise<void> {
    this.steps++
    const view = await this.#session.view({ plan: false })
    assert.deepEqual(checkView(view.messages, this.#rules()), [], 'the view is legal')
    const reopened = await this.#pal.session('s', { policy: 'none', model: this.#model })
    const again = await reopened.view({ plan: false })
    assertSame(again.messages, view.messages, 'memory and restart agree')
    assertSame(again.report, view.report, 'memory and restart report the same')
    const defined = legalize(referenceView(this.#entries, this.#applied()), this.#rules())
    assertSame(withoutMarks(view.messages), withoutMarks(defined.messages), 'the view is as defined')
    this.#assertNewest(view.messages)
    // Every second time, the test continues with the reopened session.
    if (this.steps % 2 === 0) this.#session = reopened
  }

  /** The newest entry is in view unless an active edit covers it, or the engine has replaced it. */
  #assertNewest(messages: readonly Message[]): void {
    const last = this.#session.fold.entries.length - 1
    const newest = this.#entries[last]
    const edited = this.#session.edits().some(({ active, edit }) => {
      return active && edit.target.type !== 'after' && entriesOf(edit.target).to >= last
    })
    if (!newest || edited) return
    const shown = messages.flatMap(({ parts }) => parts.flatMap(leavesOf)).join('\n')
    for (const text of newest.parts.flatMap(leavesOf)) {
      if (text.trim() !== '') assert.ok(shown.includes(text), `the newest message is in view: ${text}`)
    }
  }

  /** The active edits, in the order in which they were last applied. */
  #applied(): Applied[] {
    const { inEntry, behind, ranges } = this.#session.fold.inner
    const active = [...ranges, ...[...inEntry.values()].flat(), ...[...behind.values()].flat()]
    return active.map(edit => ({ edit, order: edit.order })).sort((a, b) => a.order - b.order)
  }

  #rules() {
    const { dialect } = this.#session.options.model
    return { dialect, began: firstSpeaker(this.#entries), open: waitingCalls(this.#entries) }
  }
}

/** Like deepEqual, but compares the JSON first, which is faster and usually equal. */
function assertSame(one: unknown, other: unknown, message: string): void {
  if (JSON.stringify(one) !== JSON.stringify(other)) assert.deepEqual(one, other, message)
}

function isAddition(kind: Operation['kind']): boolean {
  return ADDS.some(add => add === kind)
}

async function refusable(work: Promise<unknown>): Promise<void> {
  await work.catch(error => {
    if (!isPalimpsestError(error) || !REFUSALS.has(error.code)) throw error
  })
}
