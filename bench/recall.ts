/**
 * How well and how fast recall finds, compared with search engines at their defaults.
 *
 *   npm run bench:recall -- LOCOMO.json DIR [SIZES]
 *
 * LOCOMO.json: conversations with questions and the turns that answer them (the dataset of LoCoMo). DIR: a folder of
 * transcripts; there the questions are calls that an agent repeated later (their arguments ask for the earlier result)
 * and rare names that it wrote down long after a result had shown them. A figure is the share of evidence among the
 * first ten messages. These are retrieval figures: no answer was written or judged. By meaning is measured where
 * scripts/embedding.sh has put a model, and on LoCoMo only: vectors of all transcripts take hours.
 *
 * SIZES: numbers of messages for the latency, 6000,100000,1000000 unless given; 0 for none. Messages are texts of DIR, cut and
 * joined at random. Times are of the processor, of one query in one session and in all. Our own ledger of these messages
 * is a file, asked as a program does (`session.recall`, `pal.recall`); it is kept in the temporary folder of the machine, by
 * the texts and by the code that makes the index, so that a second run measures searches alone. With LOCOMO.json as `-`
 * only the latency is measured.
 */
import { readFileSync } from 'node:fs'
import { textOf } from '../src/model/leaves.ts'
import type { Message } from '../src/model/types.ts'
import { BY_MEANING, type Corpus, ENGINES, type Engine, keptPalimpsest, type Talk } from './recall-engines.ts'
import { CODING, loadSessions } from './recorded.ts'
import { randomFrom } from './session.ts'

const [locomo, folder, sizes = '6000,100000,1000000'] = process.argv.slice(2)
if (locomo === undefined || folder === undefined) {
  console.error('npm run bench:recall -- LOCOMO.json DIR [SIZES]')
  process.exit(2)
}

const FIRST = 10
const ASKED = 300
/** The engines in memory are not built above this. */
const LARGEST_IN_MEMORY = 100_000
const PER_SESSION = 1000
const QUERIES = 100
/** The first queries warm up. */
const WARMING = 20
const NAMES = Object.keys(ENGINES)

type Question = { session: string; query: string; gold: readonly number[]; before: number }
type Turn = { dia_id: string; speaker: string; text: string; blip_caption?: string }
type Asked = { question: string; evidence?: string[]; category: number }
type Conversation = { sample_id: string; conversation: Record<string, unknown>; qa: Asked[] }

const sessions = (await loadSessions(folder)).filter(({ format }) => CODING.has(format))
const works = sessions.map(({ name, messages }, i) => ({ session: `${i} ${name}`, messages }))
if (locomo !== '-') await compareShares(locomo)

const pool = works.flatMap(({ messages }) => messages.flatMap(({ parts }) => parts.map(textOf))).filter(isLong)
console.log(
  '| messages | | one session p50 / p95 | all p50 / p95 | built in | index / text |\n|---|---|---|---|---|---|',
)
for (const size of sizes.split(',').map(Number).filter(Boolean)) {
  const corpus = madeOf(pool, size)
  const { asked, bytes } = askedOf(corpus, size)
  for (const name of NAMES.filter(own => isTimed(own, size))) {
    const begun = process.cpuUsage()
    const engine = name === 'palimpsest' ? await keptPalimpsest(corpus) : await ENGINES[name]!(corpus)
    const built = engine.builtMs ?? milliseconds(begun)
    const one = await latency(engine, asked, true)
    const all = await latency(engine, asked, false)
    const share = engine.indexBytes === undefined ? '' : (engine.indexBytes / bytes).toFixed(2)
    console.log(`| ${size} | ${name} | ${one} ms | ${all} ms | ${(built / 1000).toFixed(0)} s | ${share} |`)
    await engine.close()
  }
}

async function compareShares(path: string): Promise<void> {
  const talks = readTalks(path)
  const asked = works.flatMap(({ session, messages }) => questionsIn(session, messages))
  console.log('| | LoCoMo | transcripts |\n|---|---|---|')
  for (const name of NAMES) {
    const talk = await shareFound(name, talks.corpus, talks.questions)
    const work = name === BY_MEANING ? '' : percent(await shareFound(name, works, asked))
    console.log(`| ${name} | ${percent(talk)} | ${work} |`)
  }
  console.log(`\n${talks.questions.length} and ${asked.length} questions, evidence among the first ${FIRST}.\n`)
}

type Ask = { session: string; query: string }

/** Stretches of words of random messages, and the size of all texts. */
function askedOf(corpus: Corpus, size: number): { asked: Ask[]; bytes: number } {
  const random = randomFrom(2)
  const places = Array.from({ length: QUERIES + WARMING }, () => Math.floor(random() * size))
  const queries = new Map<number, Ask>()
  let bytes = 0
  let place = 0
  for (const { session, messages } of corpus) {
    for (const { parts } of messages) {
      const text = textOf(parts[0]!)
      bytes += Buffer.byteLength(text)
      if (places.includes(place)) queries.set(place, { session, query: stretchOf(text, random) })
      place++
    }
  }
  return { asked: places.map(at => queries.get(at)!), bytes }
}

function stretchOf(text: string, random: () => number): string {
  const words = text.match(/[A-Za-z_]{3,}/g) ?? ['nothing']
  const from = Math.floor(random() * words.length)
  return words.slice(from, from + 2 + Math.floor(random() * 5)).join(' ')
}

/** Vectors are computed for the hits by words, which takes the same time at every size. */
function isTimed(name: string, size: number): boolean {
  if (name === 'palimpsest' || name === 'FTS5') return true
  return size <= LARGEST_IN_MEMORY && name !== BY_MEANING
}

function readTalks(path: string): { corpus: Talk[]; questions: Question[] } {
  const conversations: Conversation[] = JSON.parse(readFileSync(path, 'utf8'))
  const questions: Question[] = []
  const corpus = conversations.map(({ sample_id: session, conversation, qa }) => {
    const names = Object.keys(conversation).filter(name => /^session_\d+$/.test(name))
    names.sort((a, b) => Number(a.slice(8)) - Number(b.slice(8)))
    const turns = names.flatMap(name => conversation[name] as Turn[])
    const numbers = new Map(turns.map(({ dia_id }, i) => [dia_id, i]))
    for (const { question, evidence = [], category } of qa) {
      const named = evidence.flatMap(text => text.match(/D\d+:\d+/g) ?? [])
      const gold = [...new Set(named)].flatMap(id => numbers.get(id) ?? [])
      // Category 5 has questions without an answer.
      if (gold.length > 0 && category !== 5) questions.push({ session, query: question, gold, before: turns.length })
    }
    const first = turns[0]?.speaker
    const messages = turns.map(({ speaker, text, blip_caption: shown }): Message => {
      const said = `${speaker}: ${text}${shown ? ` [shares ${shown}]` : ''}`
      return { role: speaker === first ? 'user' : 'assistant', parts: [{ type: 'text', text: said }] }
    })
    return { session, messages }
  })
  return { corpus, questions }
}

/** Calls that were made again, and names that came back, each long after the result that answers. */
function questionsIn(session: string, messages: readonly Message[]): Question[] {
  const questions: Question[] = []
  const results: { id: string; message: number; text: string }[] = []
  const made = new Map<string, { id: string; message: number }>()
  for (const [message, { role, parts }] of messages.entries()) {
    for (const part of parts) {
      if (part.type === 'tool-result') results.push({ id: part.id, message, text: textOf(part) })
      if (part.type === 'tool-call') {
        const key = part.name + JSON.stringify(part.input)
        const earlier = made.get(key)
        const [argument] = textOf(part).split('\n')
        const gold = earlier && results.find(({ id }) => id === earlier.id)
        if (gold && argument && message - gold.message > FIRST) {
          questions.push({ session, query: argument, gold: [gold.message], before: message })
        }
        made.set(key, { id: part.id, message })
      }
      if (part.type !== 'text' || role !== 'assistant') continue
      const names = [...new Set(part.text.match(/\b[A-Za-z]+(?:[A-Z_.][A-Za-z0-9]+)+\b/g) ?? [])].slice(0, 5)
      for (const name of names) {
        const gold = results.filter(result => result.text.includes(name) && message - result.message > FIRST)
        if (gold.length === 0 || gold.length > 3) continue
        questions.push({ session, query: name, gold: gold.map(result => result.message), before: message })
      }
    }
  }
  const random = randomFrom(questions.length)
  return questions.filter(() => random() < 15 / questions.length)
}

/** LoCoMo: the share of the turns that answer. Transcripts: whether one of the results that answer is there. */
async function shareFound(name: string, corpus: readonly Talk[], questions: readonly Question[]): Promise<number> {
  let sum = 0
  for (const own of corpus) {
    const engine = await ENGINES[name]!([own])
    for (const { query, gold, before } of questions.filter(({ session }) => session === own.session)) {
      const hits = await engine.find(query, { session: own.session, limit: ASKED })
      const first = [...new Set(hits.map(({ message }) => message))].filter(at => at < before).slice(0, FIRST)
      const found = gold.filter(at => first.includes(at)).length
      sum += before === own.messages.length ? found / gold.length : Math.min(1, found)
    }
    await engine.close()
  }
  return sum / questions.length
}

/** Generated again for each read: a million messages in memory would be the larger part of the measurement. */
function madeOf(texts: readonly string[], size: number): Corpus {
  return {
    *[Symbol.iterator]() {
      const random = randomFrom(1)
      const pick = () => texts[Math.floor(random() * texts.length)]!
      const stretch = (text: string, length: number) => {
        const from = Math.floor(random() * Math.max(1, text.length - length))
        return text.slice(from, from + length)
      }
      for (let s = 0; s * PER_SESSION < size; s++) {
        const messages = Array.from({ length: Math.min(size, PER_SESSION) }, (_, i): Message => {
          const text = `${stretch(pick(), 250)} ${stretch(pick(), 250)}`.toWellFormed()
          return { role: i % 2 === 0 ? 'user' : 'assistant', parts: [{ type: 'text', text }] }
        })
        yield { session: `s${s}`, messages }
      }
    },
  }
}

async function latency(engine: Engine, asked: readonly Ask[], isOne: boolean): Promise<string> {
  const times: number[] = []
  for (const { session, query } of asked) {
    if (isOne) await engine.open?.(session)
    const begun = process.cpuUsage()
    await engine.find(query, { limit: 20, ...(isOne ? { session } : {}) })
    times.push(milliseconds(begun))
  }
  const warm = times.slice(WARMING).sort((a, b) => a - b)
  return `${warm[warm.length >> 1]!.toFixed(1)} / ${warm[Math.floor(warm.length * 0.95)]!.toFixed(1)}`
}

function milliseconds(begun: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1000
}

function isLong(text: string): boolean {
  return text.length >= 500
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}
