/**
 * Proposes a preference that a user states in more than one session, by rule: the same statement
 * (memory/preferences.ts) in at least two sessions. The proposal cites its sources and waits for approval like any
 * other. A preference that was proposed before, in any words and with any outcome, is not proposed again.
 */
import { factsIn, saySame } from '../memory/facts.ts'
import type { Memory } from '../memory/memory.ts'
import { PREFERENCE_WORDS, preferencesIn } from '../memory/preferences.ts'
import { allBlocks, type EntryLink, type Proposal } from '../memory/store.ts'
import type { Palimpsest } from '../session/engine.ts'
import type { SessionHit } from '../session/recall.ts'

type Where = { pal: Palimpsest; memory: Memory; user: string }
type Said = { text: string; session: string; entry: number }

const PREFERENCES_BLOCK = 'preferences'
const PROPOSER = 'palimpsest'
const MAX_HITS = 20
const MAX_HITS_PER_WORD = 300
const MAX_CITED = 10
const MAX_PROPOSALS_LOOKED_AT = 1000

/** Proposes the preferences in a message that another session also has. */
export async function proposeRepeated(where: Where, said: Said): Promise<Proposal[]> {
  const made: Proposal[] = []
  const statements = preferencesIn(said.text)
  if (statements.length === 0 || !(await isOfUser(where.pal, said.session))) return made
  for (const statement of statements) {
    const others = await saidElsewhere(where.pal, statement, said.session)
    if (others.length === 0 || (await isKnown(where, statement))) continue
    const entries = [said, ...others].slice(0, MAX_CITED)
    made.push(await propose(where, statement, entries))
  }
  return made
}

/** The same for everything that was ever said in the sessions of `pal`, newest first. */
export async function proposeAllRepeated(where: Where): Promise<Proposal[]> {
  const seen = new Map<string, SessionHit>()
  for (const word of PREFERENCE_WORDS) {
    const { hits } = await where.pal.recall(word, { types: ['user'], limit: MAX_HITS_PER_WORD, distinct: true })
    for (const hit of hits) seen.set(`${hit.session} ${hit.entry}`, hit)
  }
  const made: Proposal[] = []
  for (const hit of [...seen.values()].sort((a, b) => b.at - a.at)) {
    const said = await readSaid(where.pal, hit)
    if (said) made.push(...(await proposeRepeated(where, said)))
  }
  return made
}

async function saidElsewhere(pal: Palimpsest, statement: string, session: string): Promise<Said[]> {
  const { hits } = await pal.recall(statement, { types: ['user'], limit: MAX_HITS, among: id => id !== session })
  const found = new Map<string, Said>()
  for (const hit of hits) {
    const said = await readSaid(pal, hit)
    const same = said && preferencesIn(said.text).some(other => saySame(statement, other))
    if (same && !found.has(said.session)) found.set(said.session, said)
  }
  return [...found.values()]
}

/** Not for a subagent's session, where another agent speaks as the user, nor for a fork, which repeats its parent. */
async function isOfUser(pal: Palimpsest, session: string): Promise<boolean> {
  const info = await pal.find(session)
  return info !== undefined && info.about.parent === undefined && info.parent === undefined
}

async function readSaid(pal: Palimpsest, { session, entry, hash }: SessionHit): Promise<Said | undefined> {
  if (!(await isOfUser(pal, session))) return undefined
  const { text } = await (await pal.session(session, { mustExist: true, asGuest: true })).original(hash)
  return { text, session, entry }
}

async function isKnown({ memory, user }: Where, statement: string): Promise<boolean> {
  const blocks = await allBlocks(memory.store, user)
  if (blocks.some(({ body }) => factsIn(body).some(fact => saySame(fact, statement)))) return true
  const proposals = await memory.proposals(user, { limit: MAX_PROPOSALS_LOOKED_AT })
  return proposals.some(({ body }) => factsIn(body).some(fact => saySame(fact, statement)))
}

async function propose({ memory, user }: Where, statement: string, said: readonly Said[]): Promise<Proposal> {
  const block = await memory.block(user, PREFERENCES_BLOCK)
  const entries = said.map(({ session, entry }): EntryLink => ({ session, entry, source: 'user' }))
  return memory.propose(user, PREFERENCES_BLOCK, {
    ...(block ? {} : { kind: 'new' as const }),
    body: { type: 'append', text: `- ${statement}\n` },
    agentId: PROPOSER,
    reasoning: `You asked for this in ${new Set(said.map(({ session }) => session)).size} sessions.`,
    confidence: 'medium',
    entries,
  })
}
