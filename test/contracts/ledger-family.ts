/**
 * The law of families, for every ledger store. Sessions are appended to, forked, removed and redacted in any order.
 * Each remaining session has its own events in an unbroken chain, every head kept of it is in that chain, search finds
 * exactly what exists, and large texts are kept exactly as long as an event uses them.
 */
import assert from 'node:assert/strict'
import { contentHash } from '../../src/ledger/codec.ts'
import type { Head } from '../../src/ledger/head.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import type { LedgerStore } from '../../src/ledger/store.ts'
import { search } from '../../src/recall/search.ts'
import * as fc from '../property.ts'

const WORDS = ['apple', 'banana', 'cherry', 'damson'] as const
/** Long enough to be stored separately from its event. */
const LARGE = ` ${'z'.repeat(20_000)}`

type Word = (typeof WORDS)[number]
/** An event that sessions may share: a text with a word to redact, or the record of a redaction. */
type Told = { text: string; word: Word | undefined; isLarge: boolean } | 'redaction'
type Step =
  | { do: 'append'; pick: number; words: Word[]; isLarge: boolean }
  | { do: 'fork'; pick: number; at: number }
  | { do: 'remove'; picks: number[] }
  | { do: 'cover'; pick: number; word: Word }
  | { do: 'search' }

const word = fc.constantFrom(...WORDS)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      pick: fc.nat(),
      words: fc.array(word, { minLength: 1, maxLength: 3 }),
      isLarge: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('fork' as const), pick: fc.nat(), at: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('remove' as const),
      picks: fc.array(fc.nat(), { minLength: 1, maxLength: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cover' as const), pick: fc.nat(), word }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('search' as const) }) },
)

/** The younger fork shares more and takes over the events, so the older one becomes a fork of a younger session. */
const YOUNGER_HEIR: Step[] = [
  { do: 'append', pick: 0, words: ['apple', 'banana', 'cherry'], isLarge: false },
  { do: 'fork', pick: 0, at: 0 },
  { do: 'fork', pick: 0, at: 1 },
  { do: 'search' },
  { do: 'remove', picks: [0] },
  { do: 'search' },
  { do: 'cover', pick: 0, word: 'apple' },
]

export async function familyLaw(openStore: () => Promise<LedgerStore>, numRuns: number): Promise<void> {
  const steps = fc.array(step, { minLength: 8, maxLength: 20 })
  const property = fc.asyncProperty(steps, async all => {
    const store = await openStore()
    try {
      const family = new Family(store)
      for (const one of all) await family.take(one)
      await family.check()
    } finally {
      await store.close()
    }
  })
  await fc.assert(property, { numRuns, examples: [[YOUNGER_HEIR]] })
}

class Family {
  readonly #store: LedgerStore
  readonly #sessions = new Map<string, Told[]>()
  readonly #kept: Head[] = []
  readonly #large = new Set<string>()
  readonly #buried: [session: string, events: number][] = []
  #made = 0

  constructor(store: LedgerStore) {
    this.#store = store
  }

  async take(step: Step): Promise<void> {
    if (this.#sessions.size === 0) await this.#make()
    const ids = [...this.#sessions.keys()]
    const pick = (n: number) => ids[n % ids.length]!
    if (step.do === 'append') await this.#append(pick(step.pick), step)
    if (step.do === 'fork') await this.#fork(pick(step.pick), step.at)
    if (step.do === 'remove') await this.#remove(step.picks.map(pick))
    if (step.do === 'cover') await this.#cover(pick(step.pick), step.word)
    if (step.do === 'search') await this.check()
  }

  async check(): Promise<void> {
    for (const [id, told] of this.#sessions) {
      const events = await new Ledger(this.#store, id).verify()
      assert.deepEqual(
        events.map(({ event }) => textOf(event)),
        told.map(one => (one === 'redaction' ? one : one.text)),
      )
      for (const head of this.#kept) if (head.session === id) await new Ledger(this.#store, id).verify(head)
      for (const word of WORDS) assert.deepEqual(await this.#found(word, id), placesOf(word, told), `${word} in ${id}`)
    }
    const all = new Set([...this.#sessions.values()].flat())
    for (const word of WORDS) {
      const hits = await search(await this.#store.index('all'), word, { limit: 1000 })
      assert.equal(hits.length, placesOf(word, [...all]).length, `${word} in all sessions`)
    }
    const held = [...all].flatMap(one => (one === 'redaction' || !one.isLarge ? [] : [contentHash(one.text)]))
    assert.deepEqual(new Set((await this.#store.contents([...this.#large])).keys()), new Set(held))
    const tombstones = await this.#store.tombstones()
    assert.deepEqual(
      tombstones.map(({ session, events }) => [session, events]),
      this.#buried,
    )
  }

  async #make(): Promise<void> {
    const id = `s${this.#made++}`
    await this.#store.open(id, { at: 0, meta: '{}' })
    this.#sessions.set(id, [])
  }

  async #append(id: string, { words, isLarge }: { words: Word[]; isLarge: boolean }): Promise<void> {
    const told = words.map(word => ({ word, isLarge, text: `${word} ${this.#made++}${isLarge ? LARGE : ''}` }))
    const ledger = new Ledger(this.#store, id)
    await ledger.load()
    const parts = told.map(({ text }) => [{ type: 'text' as const, text }])
    await ledger.append(
      parts.map(own => ({ type: 'entry', message: { role: 'user', parts: own } })),
      this.#made,
    )
    for (const { text } of told) if (isLarge) this.#large.add(contentHash(text))
    this.#sessions.get(id)!.push(...told)
    this.#kept.push({ session: id, ...ledger.head })
  }

  async #fork(id: string, at: number): Promise<void> {
    const told = this.#sessions.get(id)!
    if (told.length === 0) return
    const seq = at % told.length
    const fork = `s${this.#made++}`
    await this.#store.open(fork, { at: this.#made, meta: '{}', parent: { id, seq } })
    this.#sessions.set(fork, told.slice(0, seq + 1))
  }

  async #remove(ids: readonly string[]): Promise<void> {
    await this.#store.remove(ids, { at: 1, by: 'alice' })
    for (const id of new Set(ids)) {
      this.#buried.push([id, this.#sessions.get(id)!.length])
      this.#sessions.delete(id)
    }
  }

  async #cover(id: string, word: Word): Promise<void> {
    const changed = this.#sessions.get(id)!.filter(one => one !== 'redaction' && one.word === word)
    const redacted = await this.#store.redact([id], { text: word }, { at: 1, by: 'alice' })
    const affected = [...this.#sessions].filter(([, told]) => told.some(one => changed.includes(one)))
    assert.deepEqual(
      new Map(redacted.map(({ session, changed: events, kinds }) => [session, [events, kinds]])),
      new Map(affected.map(([name, told]) => [name, inAll(told.filter(one => changed.includes(one)).length)])),
    )
    for (const [, told] of affected) told.push('redaction')
    for (const one of changed) {
      if (one === 'redaction') continue
      one.text = one.text.replace(word, '*'.repeat(word.length))
      one.word = undefined
      if (one.isLarge) this.#large.add(contentHash(one.text))
    }
  }

  async #found(word: Word, session: string): Promise<number[]> {
    const hits = await search(await this.#store.index({ session }), word, { limit: 1000 })
    return hits.map(({ seq }) => seq).sort((a, b) => a - b)
  }
}

const inAll = (events: number) => [events, { text: events }]

function placesOf(word: Word, told: readonly Told[]): number[] {
  return told.flatMap((one, i) => (one !== 'redaction' && one.word === word ? [i] : []))
}

function textOf(event: { type: string; message?: { parts: readonly { type: string; text?: string }[] } }): string {
  return event.type === 'entry' ? (event.message?.parts[0]?.text ?? '') : 'redaction'
}
