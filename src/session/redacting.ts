/** Effects of a redaction outside the session's ledger: on forks made later, and on reasoning. */
import type { Ledger } from '../ledger/ledger.ts'
import { lastLink, type RedactEvent } from '../ledger/redaction.ts'
import type { Author, Edit, Message } from '../model/types.ts'
import { STALE } from '../view/binding.ts'
import type { Fold } from '../view/fold.ts'
import { shownParts } from '../view/shown-texts.ts'

/**
 * Redacts, in a new fork, texts that were redacted after the fork's place, because the client still has them. `sent`
 * holds the client's messages, if they are known.
 */
export async function redactFork(
  fork: Ledger,
  redactions: readonly RedactEvent[],
  { sent, at }: { sent: readonly Message[]; at: number },
): Promise<void> {
  if (redactions.length === 0) return
  const events = (await fork.catchUp()).map(({ event }) => event)
  const later = redactions.slice(events.filter(({ type }) => type === 'redact').length)
  const shared = sent.slice(0, events.filter(({ type }) => type === 'entry').length)
  const link = lastLink(shared.map(message => ({ event: { type: 'entry', message } }))) ?? ''
  const own = later.map(event => ({ ...event, link }))
  if (own.length > 0) await fork.append(own, at)
}

type Editable = {
  readonly fold: Readonly<Fold>
  view(options: { plan: false }): Promise<unknown>
  apply(edits: readonly Pick<Edit, 'target' | 'replacement' | 'why' | 'mark'>[], by: Author): Promise<unknown>
}

/** Providers sign reasoning and refuse it if it was changed, so changed reasoning is left out. */
export async function leaveOutRedacted(session: Editable): Promise<void> {
  await session.view({ plan: false })
  const edits = [...shownParts(session.fold)].flatMap(({ entry, part, shown }) => {
    if (shown.type !== 'reasoning' || !shown.text.includes('[redacted: ')) return []
    return [{ target: { type: 'part' as const, entry, part }, replacement: null, why: 'it was redacted', mark: STALE }]
  })
  if (edits.length > 0) await session.apply(edits, 'engine')
}
