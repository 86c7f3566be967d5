/**
 * Texts that the client's own compaction removed from a conversation: the session before it still has them. Putting a
 * text back is an edit of the message with which the conversation continues; it is recorded and can be undone like
 * any other.
 */
import { PalimpsestError } from '../model/errors.ts'
import { textOf } from '../model/leaves.ts'
import { amount, headOf } from '../model/text.ts'
import { partTokens } from '../model/tokens.ts'
import type { Author, Edit } from '../model/types.ts'
import type { Dropped } from '../view/figures.ts'
import { partId, shownParts } from '../view/shown-texts.ts'
import type { Palimpsest, SessionInfo } from './engine.ts'
import type { Session } from './session.ts'

type IsHidden = (session: Session, entry: number, part: number) => boolean

/** The texts and results of the previous session that are missing from this one, largest first. */
export async function droppedFrom(pal: Palimpsest, info: SessionInfo, isHidden?: IsHidden): Promise<Dropped> {
  const { before, live } = await bothOf(pal, info)
  const here = new Set([...shownParts(live.fold)].map(({ original }) => textOf(original)))
  const parts = [...shownParts(before.fold)]
    .filter(({ role, original }) => role !== 'system' && (original.type === 'text' || original.type === 'tool-result'))
    .filter(({ entry, part, original }) => !here.has(textOf(original)) && !isHidden?.(before, entry, part))
    .map(({ entry, part, original }) => ({
      id: partId(entry, part, original),
      kind: original.type,
      tokens: partTokens(original, before.fold.count),
      preview: headOf(textOf(original).replaceAll(/\s+/g, ' '), 80),
    }))
  return { session: info.id, before: before.id, parts: parts.sort((a, b) => b.tokens - a.tokens) }
}

/** Adds texts to the message with which the conversation continues. */
export async function putBack(
  pal: Palimpsest,
  info: SessionInfo,
  ids: readonly string[],
  { by, isHidden }: { by: Author; isHidden?: IsHidden },
): Promise<Edit[]> {
  const { before, live } = await bothOf(pal, info)
  const known = new Set((await droppedFrom(pal, info, isHidden)).parts.map(({ id }) => id))
  const unknown = ids.find(id => !known.has(id))
  if (unknown !== undefined) {
    const message = `Nothing that was dropped from ${before.id} has the id ${unknown}.`
    throw new PalimpsestError('ENTRY_NOT_FOUND', message, { id: unknown })
  }
  const texts: string[] = []
  for (const id of ids) texts.push((await before.original(id)).text)
  const first = [...shownParts(live.fold)].find(({ role, shown }) => role === 'user' && shown.type === 'text')
  if (!first) {
    throw new PalimpsestError('ENTRY_NOT_FOUND', `${info.id} has no user message to put it after.`, { ids })
  }
  const { entry, part, shown } = first
  const restored = texts.map(text => `[From before the compaction, put back by the ${by}]\n${text}`)
  const replacement = [textOf(shown), ...restored].join('\n\n')
  const why = `${amount(ids.length, 'part')} dropped by the client's compaction, put back`
  return live.apply([{ target: { type: 'part', entry, part }, replacement, why }], by)
}

async function bothOf(pal: Palimpsest, { id, about }: SessionInfo): Promise<{ before: Session; live: Session }> {
  const { parent } = about
  if (parent === undefined || !(await pal.find(parent))) {
    throw new PalimpsestError('SESSION_NOT_FOUND', `${id} does not continue another session: nothing was compacted.`, {
      id,
    })
  }
  const open = async (name: string) => {
    const session = await pal.session(name, { mustExist: true })
    await session.view({ plan: false })
    return session
  }
  return { before: await open(parent), live: await open(id) }
}
