/**
 * The search engines that bench/recall.ts compares, with their defaults: ours, by words and (with a model) by meaning,
 * SQLite's FTS5, MiniSearch, Orama, lunr. Each gets one document per message and returns numbers of messages. The peers
 * are installed in bench/ only.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { embeddingFolder } from '../scripts/optional-parts.ts'
import { Ledger } from '../src/ledger/ledger.ts'
import { SqliteLedger } from '../src/ledger/sqlite.ts'
import { RECALL_TABLES } from '../src/ledger/sqlite-index.ts'
import { MEMORY } from '../src/model/defaults.ts'
import { textOf } from '../src/model/leaves.ts'
import type { Message } from '../src/model/types.ts'
import { type Embed, meaningOf } from '../src/recall/meaning.ts'
import { openEmbedding } from '../src/session/embedding.ts'
import { openPalimpsest } from '../src/session/engine.ts'
import type { Session } from '../src/session/session.ts'

/** Messages of several sessions; a hit is `session` and the number of the message in it. */
export type Talk = { session: string; messages: readonly Message[] }
export type Corpus = Iterable<Talk>
export type Place = { session: string; message: number }

export type Engine = {
  /** Opens a session before it is searched. */
  open?(session: string): Promise<void>
  /** Searches one session, or all if none is named. */
  find(query: string, options: { session?: string; limit: number }): Promise<Place[]>
  close(): Promise<void>
  /** The size of the index without the texts, if it is known. */
  indexBytes?: number
  /** Processor time for building the index, if an earlier run has built it. */
  builtMs?: number
}

const load = createRequire(import.meta.url)
const words = (query: string) => query.match(/[\p{L}\p{N}_]+/gu) ?? []

/** Ours; with `embed` the order is also by meaning. */
async function palimpsest(corpus: Corpus, embed?: Embed): Promise<Engine> {
  const store = new SqliteLedger(MEMORY, { indexes: false })
  await fill(store, corpus)
  return searching(store, embed)
}

async function fill(store: SqliteLedger, corpus: Corpus): Promise<void> {
  for (const { session, messages } of corpus) {
    await store.open(session, { at: 0, meta: '{}' })
    await new Ledger(store, session).append(
      messages.map(message => ({ type: 'entry', message })),
      0,
    )
    while (await store.advanceIndex([session], { steps: 64, merge: true }));
  }
}

async function searching(store: SqliteLedger, embed?: Embed): Promise<Engine> {
  const pal = await openPalimpsest({ home: MEMORY, config: false, store, ...(embed ? { embed } : {}) })
  let last: Session | undefined
  const open = async (id: string) => {
    if (last?.id !== id) last = await pal.session(id)
    return last
  }
  const hitsOf = async (query: string, { session, limit }: { session?: string; limit: number }) => {
    if (session === undefined) return (await pal.recall(query, { limit })).hits
    return (await (await open(session)).recall(query, { limit })).map(hit => ({ session, ...hit }))
  }
  let filled = embed === undefined
  return {
    open: async session => void (await open(session)),
    async find(query, options) {
      // The first search requests the vectors; it is repeated when they are there.
      if (!filled) await hitsOf(query, options).then(() => meaningOf(embed!).filled())
      filled = true
      return (await hitsOf(query, options)).map(({ session, entry }) => ({ session, message: entry }))
    },
    close: () => pal.close(),
  }
}

/** The code that determines the content of the index, with its tables. */
const INDEXING = [
  'recall/documents',
  'recall/inside',
  'recall/postings',
  'recall/stem',
  'recall/words',
  'ledger/filling',
]
const KEPT = join(tmpdir(), 'palimpsest-bench')

/** Ours in a file, which is made once for a corpus and the code that makes the index. */
export async function keptPalimpsest(corpus: Corpus): Promise<Engine> {
  const hash = createHash('sha256').update(RECALL_TABLES)
  for (const name of INDEXING) hash.update(readFileSync(new URL(`../src/${name}.ts`, import.meta.url)))
  eachText(corpus, text => hash.update(text))
  const folder = join(KEPT, `recall-${hash.digest('hex').slice(0, 16)}`)
  if (!existsSync(folder)) await build(folder, corpus)
  const path = join(folder, 'ledger.sqlite')
  const db = new DatabaseSync(path, { readOnly: true })
  const indexBytes = sizeOf(db, "name LIKE 'recall_%'")
  db.close()
  const builtMs = Number(readFileSync(join(folder, 'built-ms'), 'utf8'))
  return { ...(await searching(new SqliteLedger(path, { indexes: false }))), indexBytes, builtMs }
}

async function build(folder: string, corpus: Corpus): Promise<void> {
  const unfinished = `${folder}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  const begun = process.cpuUsage()
  const store = new SqliteLedger(join(unfinished, 'ledger.sqlite'), { indexes: false })
  await fill(store, corpus)
  await store.close()
  const { user, system } = process.cpuUsage(begun)
  writeFileSync(join(unfinished, 'built-ms'), String((user + system) / 1000))
  renameSync(unfinished, folder)
}

/** Bytes of the tables that a condition names. */
function sizeOf(db: DatabaseSync, which: string): number {
  return Number(db.prepare(`SELECT sum(pgsize) AS bytes FROM dbstat WHERE ${which}`).get()!['bytes'])
}

/** The model that scripts/embedding.sh gets, if it is there. */
async function openModel(): Promise<Embed | undefined> {
  const folder = embeddingFolder()
  if (folder === undefined) return undefined
  const queryPrefix = 'Represent this sentence for searching relevant passages: '
  return openEmbedding({ onnx: 'model.onnx', queryPrefix }, folder)
}

const model = await openModel()
export const BY_MEANING = 'palimpsest, by meaning'

export const ENGINES: Record<string, (corpus: Corpus) => Promise<Engine>> = {
  palimpsest: corpus => palimpsest(corpus),
  ...(model ? { [BY_MEANING]: (corpus: Corpus) => palimpsest(corpus, model) } : {}),

  FTS5: async corpus => {
    const db = new DatabaseSync(':memory:')
    db.exec('CREATE VIRTUAL TABLE texts USING fts5(text, session UNINDEXED, message UNINDEXED)')
    const insert = db.prepare('INSERT INTO texts (text, session, message) VALUES (?, ?, ?)')
    db.exec('BEGIN')
    eachText(corpus, (text, { session, message }) => insert.run(text, session, message))
    db.exec('COMMIT')
    const all = db.prepare('SELECT session, message FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?')
    const one = db.prepare(
      'SELECT session, message FROM texts WHERE texts MATCH ? AND session = ? ORDER BY rank LIMIT ?',
    )
    return {
      indexBytes: sizeOf(db, "name IN ('texts_data', 'texts_idx', 'texts_docsize')"),
      async find(query, { session, limit }) {
        const match = words(query)
          .map(word => `"${word}"`)
          .join(' OR ')
        if (match === '') return []
        const rows = session === undefined ? all.all(match, limit) : one.all(match, session, limit)
        return rows.map(row => ({ session: String(row['session']), message: Number(row['message']) }))
      },
      close: async () => db.close(),
    }
  },

  MiniSearch: async corpus => {
    const MiniSearch = load('minisearch')
    const places: Place[] = []
    const index = new MiniSearch({ fields: ['text'], storeFields: ['session'] })
    eachText(corpus, (text, place) => {
      index.add({ id: places.length, text, session: place.session })
      places.push(place)
    })
    return {
      async find(query, { session, limit }) {
        const filter = session === undefined ? {} : { filter: (hit: { session: string }) => hit.session === session }
        const hits: { id: number }[] = index.search(query, filter)
        return hits.slice(0, limit).map(hit => places[hit.id]!)
      },
      close: async () => {},
    }
  },

  Orama: async corpus => {
    const { create, insert, search: find } = load('@orama/orama')
    const places: Place[] = []
    const db = create({ schema: { text: 'string', session: 'enum', place: 'number' } })
    const texts: [string, Place][] = []
    eachText(corpus, (text, place) => texts.push([text, place]))
    for (const [text, place] of texts) {
      await insert(db, { text, session: place.session, place: places.length })
      places.push(place)
    }
    return {
      async find(query, { session, limit }) {
        const where = session === undefined ? {} : { where: { session: { eq: session } } }
        const { hits } = await find(db, { term: query, properties: ['text'], limit, ...where })
        return hits.map((hit: { document: { place: number } }) => places[hit.document.place]!)
      },
      close: async () => {},
    }
  },

  lunr: async corpus => {
    const lunr = load('lunr')
    const places: Place[] = []
    const builder = new lunr.Builder()
    builder.pipeline.add(lunr.trimmer, lunr.stopWordFilter, lunr.stemmer)
    builder.searchPipeline.add(lunr.stemmer)
    builder.ref('id')
    builder.field('text')
    eachText(corpus, (text, place) => {
      builder.add({ id: places.length, text })
      places.push(place)
    })
    const index = builder.build()
    return {
      async find(query, { session, limit }) {
        // Only the words of the query are used, without the engine's syntax.
        const hits: { ref: string }[] = index.search(words(query).join(' '))
        const found = hits.map(hit => places[Number(hit.ref)]!)
        return (session === undefined ? found : found.filter(place => place.session === session)).slice(0, limit)
      },
      close: async () => {},
    }
  },
}

function eachText(corpus: Corpus, visit: (text: string, place: Place) => void): void {
  for (const { session, messages } of corpus) {
    for (const [message, { parts }] of messages.entries()) {
      visit(parts.map(textOf).join('\n'), { session, message })
    }
  }
}
