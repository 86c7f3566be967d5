/**
 * Finds texts that look like secrets in a session, and counts what redacting would change. It never returns the secret
 * itself.
 */
import { redactEvent, type ToRedact } from '../ledger/redaction.ts'
import { stringsIn } from '../model/leaves.ts'
import type { Event } from '../model/types.ts'
import { hintOf, secretsIn } from '../recall/secrets.ts'
import type { Look } from './look.ts'

export type Found = {
  session: string
  /** The event's place in the ledger. */
  event: number
  type: Event['type']
  /** Set if the text is in an entry. */
  entry?: number
  part?: number
  kind: string
  /** The first four and the last two characters. */
  hint: string
}

export async function secretsOf(session: Look): Promise<Found[]> {
  const found = new Map<string, Found>()
  let entries = 0
  const look = (value: unknown, place: Omit<Found, 'kind' | 'hint'>) => {
    for (const text of stringsIn(value)) {
      for (const { kind, start, end } of secretsIn(text)) {
        const one = { ...place, kind, hint: hintOf(text.slice(start, end)) }
        found.set(JSON.stringify(one), one)
      }
    }
  }
  for (const { seq, event } of await session.events()) {
    const place = { session: session.id, event: seq, type: event.type }
    if (event.type !== 'entry') {
      look(event, place)
      continue
    }
    const entry = entries++
    const { parts, ...around } = event.message
    look(around, { ...place, entry })
    for (const [part, value] of parts.entries()) look(value, { ...place, entry, part })
  }
  return [...found.values()]
}

/** How many texts of each kind would be redacted. */
export async function wouldRedact(session: Look, what: ToRedact): Promise<Record<string, number>> {
  const kinds: Record<string, number> = {}
  for (const { event } of await session.events()) {
    for (const kind of redactEvent(event, what, '')?.kinds ?? []) kinds[kind] = (kinds[kind] ?? 0) + 1
  }
  return kinds
}
