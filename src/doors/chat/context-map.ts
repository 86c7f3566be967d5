/** `/context`: the contents of the window as bars by kind, and the effect of edits. */

import { describeCall } from '../../calls/tool-kinds.ts'
import { amount, withCommas } from '../../model/text.ts'
import { loadCounter, partTokens } from '../../model/tokens.ts'
import type { Part, Role, ToolKind } from '../../model/types.ts'
import type { Look } from '../../session/look.ts'
import { explainView, tokensSaved } from '../../view/explain.ts'
import { oneLine, printable } from '../terminal/output.ts'
import type { Screen } from '../terminal/screen.ts'
import { clipLine, type Line, span } from '../terminal/spans.ts'
import { padEnd, padStart } from '../terminal/width.ts'
import { barOf, percent, short } from './status.ts'

export type Share = { kind: string; tokens: number; parts: number }

const BAR = 30
const LARGEST = 5

export async function contextLines(session: Look, { width }: Pick<Screen, 'width'>): Promise<Line[]> {
  const { tokens, edits, messages } = await session.view({ plan: false })
  const { window } = session.options.model
  const shares = await sharesOf(session)
  const slots = explainView(session.fold)
  const saved = tokensSaved(slots)
  const pinned = slots.filter(slot => slot.pinned).map(({ from }) => `#${from}`)
  const most = Math.max(1, ...shares.map(share => share.tokens))
  const size = `${withCommas(tokens)} of ${short(window)} tokens in ${amount(messages.length, 'message')}`
  const wide = width >= 70
  const lines: Line[] = [
    [...barOf(tokens / window, wide ? BAR : 10), span(` ${percent(tokens / window)} `, 'bold'), span(size, 'dim')],
    [],
    ...shares.map(
      ({ kind, tokens: own, parts }): Line => [
        span(`  ${padEnd(kind, 16)} `),
        ...barOf(own / most, wide ? 20 : 8, kind === EDITED ? 'magenta' : 'cyan'),
        span(` ${padStart(withCommas(own), 8)}`),
        span(`  ${padStart(percent(own / Math.max(1, tokens)), 4)}  ${withCommas(parts)}×`, 'dim'),
      ],
    ),
    [],
    [span(editsSentence(edits.length, saved, tokens), 'dim')],
    ...(pinned.length > 0 ? [[span(`pinned: ${pinned.join(', ')}`, 'dim')]] : []),
    ...(await largestLines(session, Math.min(width, 110))),
  ]
  return lines.map(line => clipLine(line, width))
}

function editsSentence(count: number, saved: number, tokens: number): string {
  if (count === 0) return 'No edits: the model sees the original conversation.'
  const gain =
    saved >= 0
      ? `${amount(saved, 'token')} saved of ${withCommas(tokens + saved)}`
      : `${withCommas(-saved)} tokens added`
  return `${amount(count, 'edit')} in force, ${gain}: /edits`
}

const EDITED = 'edited'

/** Tokens by kind; a part that an edit put into the view counts as edited. */
export async function sharesOf(session: Look): Promise<Share[]> {
  const count = await loadCounter()
  const names = toolKinds(session)
  const shares = new Map<string, Share>()
  for (const { message } of explainView(session.fold).flatMap(slot => slot.messages)) {
    for (const part of message.parts) {
      const isOwn = part.edit === undefined || message.role === 'system'
      const kind = isOwn ? kindOf(part, message.role, names) : EDITED
      const share = shares.get(kind) ?? { kind, tokens: 0, parts: 0 }
      share.tokens += partTokens(part, count)
      share.parts++
      shares.set(kind, share)
    }
  }
  return [...shares.values()].sort((a, b) => b.tokens - a.tokens)
}

const RESULTS: Partial<Record<ToolKind, string>> = {
  read: 'files read',
  'shell-read': 'files read',
  shell: 'commands',
  'shell-write': 'commands',
  search: 'searches',
  'shell-search': 'searches',
  list: 'searches',
  edit: 'changes',
  write: 'changes',
  agent: 'subagents',
  memory: 'memory',
}

function kindOf(part: Part, role: Role, kinds: ReadonlyMap<string, ToolKind>): string {
  if (part.type === 'tool-result') return RESULTS[kinds.get(part.id) ?? 'other'] ?? 'other results'
  if (part.type === 'tool-call') return 'calls'
  if (part.type === 'reasoning') return 'thoughts'
  if (part.type === 'image') return 'images'
  if (role === 'system') return 'system prompt'
  return role === 'user' ? 'requests' : 'answers'
}

/** The kind of each call by its id: a result does not name its command. */
function toolKinds(session: Look): Map<string, ToolKind> {
  const kinds = new Map<string, ToolKind>()
  for (const { message } of session.fold.entries) {
    for (const part of message?.parts ?? []) {
      if (part.type === 'tool-call') kinds.set(part.id, describeCall(part.name, part.input, session.options.tools).kind)
    }
  }
  return kinds
}

async function largestLines(session: Look, width: number): Promise<Line[]> {
  const parts = (await session.parts()).filter(({ kind }) => kind === 'tool-result' || kind === 'text')
  if (parts.length === 0) return []
  const rows = parts
    .slice(0, LARGEST)
    .map(
      ({ hash, entry, tool, tokens, preview }): Line => [
        span(`  ${padStart(`#${entry}`, 5)}  ${hash} ${padStart(withCommas(tokens), 8)}  `, 'dim'),
        span(`${printable(tool ?? 'text')} `, 'bold'),
        span(oneLine(preview, Math.max(20, width - 50)), 'dim'),
      ],
    )
  return [[span('largest (/context ID: the cost of removing it):', 'dim')], ...rows]
}
