/** `memory propose | proposals | suggest | diff | approve | reject | revert`. */

import { type DiffPart, reveal } from '../../memory/diff.ts'
import type { ProposalInput } from '../../memory/memory.ts'
import type { Review } from '../../memory/review.ts'
import type { Confidence, Proposal, ProposalState } from '../../memory/store.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import { numberOption, type Report } from '../terminal/command.ts'
import { oneLine, type Paint, printable, table, timeOf } from '../terminal/output.ts'
import { type Action, type Desk, givenBody } from './memory-desk.ts'

export const proposalActions: readonly (readonly [string, Action])[] = [
  ['propose', { usage: 'propose LABEL --reasoning TEXT', writes: true, takes: [1, 1], run: propose }],
  ['proposals', { usage: 'proposals', takes: [0, 0], run: proposals }],
  ['suggest', { usage: 'suggest', writes: true, takes: [0, 0], run: suggest }],
  ['diff', { usage: 'diff ID, or: palimpsest memory diff LABEL VERSION [VERSION]', takes: [1, 3], run: diff }],
  ['approve', { usage: 'approve ID', takes: [1, 1], run: approve }],
  ['reject', { usage: 'reject ID', takes: [1, 1], run: reject }],
  ['revert', { usage: 'revert ID', takes: [1, 1], run: revert }],
]

const STATES: readonly ProposalState[] = ['open', 'approved', 'rejected', 'reverted']
const CONFIDENCES: readonly Confidence[] = ['low', 'medium', 'high']

async function propose(desk: Desk, [label = '']: readonly string[]): Promise<Report> {
  const { memory, user, context } = desk
  const { reasoning = '', agent = 'cli', title } = context.values
  const confidence = CONFIDENCES.find(level => level === (context.values.confidence ?? 'medium'))
  if (!confidence) throw new PalimpsestError('INVALID_INPUT', '--confidence must be low, medium or high.')
  const proposal = await memory.propose(user, label, {
    ...(await wantedChange(desk, label)),
    title,
    agentId: agent,
    reasoning,
    confidence,
  })
  return { json: proposal, text: () => `Proposed as ${proposal.id}\n` }
}

async function wantedChange(
  { memory, user, context }: Desk,
  label: string,
): Promise<Pick<ProposalInput, 'kind' | 'body'>> {
  const { values } = context
  const body = await givenBody(context)
  const { old, new: replacement, append, prepend, section, all = false } = values
  if (old !== undefined && replacement !== undefined) {
    return { body: { type: 'replace', old, new: replacement, all } }
  }
  if (append !== undefined) return { body: { type: 'append', text: append } }
  if (prepend !== undefined) return { body: { type: 'prepend', text: prepend } }
  if (body === undefined) {
    throw new PalimpsestError(
      'INVALID_INPUT',
      'Give the change with --old and --new, --append, --prepend, --body or --file.',
    )
  }
  if (section !== undefined) return { body: { type: 'section', header: section, content: body } }
  return { kind: (await memory.block(user, label)) ? 'edit' : 'new', body }
}

async function proposals({ memory, user, context }: Desk): Promise<Report> {
  const wanted = context.values.state ?? 'open'
  const state = STATES.find(known => known === wanted)
  if (!state && wanted !== 'all')
    throw new PalimpsestError('INVALID_INPUT', `--state must be ${STATES.join(', ')} or all.`)
  const limit = numberOption(context.values.limit, '--limit') ?? 50
  const found = await memory.proposals(user, { limit, state })
  return {
    json: { user, proposals: found },
    text: paint => table(['*ID', 'BLOCK', 'KIND', 'AGENT', 'SURE', 'WHEN', 'STATE', 'WHY'], found.map(toCells), paint),
    notes: found.length === 0 ? ['There are none.'] : [],
  }
}

function toCells({ id, label, kind, agentId, confidence, createdAt, state, reasoning }: Proposal): string[] {
  return [id, printable(label), kind, printable(agentId), confidence, timeOf(createdAt), state, oneLine(reasoning, 60)]
}

async function suggest({ memory, user, context }: Desk): Promise<Report> {
  const { proposeAllRepeated } = await import('../../agent/preferences.ts')
  const pal = await context.openIfThere()
  const made = pal ? await proposeAllRepeated({ pal, memory, user }) : []
  return {
    json: { user, proposals: made },
    *text() {
      for (const { id, operation, reasoning } of made) {
        const text = operation?.type === 'append' ? operation.text : ''
        yield `${id}  ${oneLine(text, 120)}  ${oneLine(reasoning, 80)}`
      }
    },
    notes: made.length === 0 ? ['No request was repeated in two sessions that memory does not already have.'] : [],
  }
}

async function diff({ memory, user }: Desk, [first = '', from, to]: readonly string[]): Promise<Report> {
  if (from !== undefined) {
    const parts = await memory.diff(user, first, from, to)
    return { json: { label: first, from, to: to ?? null, diff: parts }, text: paint => `${showParts(parts, paint)}\n` }
  }
  const review = await memory.review(user, first)
  return { json: review, text: paint => showReview(review, paint) }
}

async function approve({ memory, user, by, context }: Desk, [id = '']: readonly string[]): Promise<Report> {
  const body = await givenBody(context)
  const { title } = context.values
  const done = await memory.approve(user, id, { by, why: context.values.why, body, title }).catch(error => {
    if (!(error instanceof PalimpsestError) || error.code !== 'CONFLICT') throw error
    const hint = `See both versions with palimpsest memory diff ${id}, then approve with --body or --file.`
    throw new PalimpsestError('CONFLICT', `The block has since changed in the same place. ${hint}`, error.data, error)
  })
  return { json: done, text: () => `Approved: ${printable(done.block.label)} is at version ${done.block.version}\n` }
}

async function reject({ memory, user, by, context }: Desk, [id = '']: readonly string[]): Promise<Report> {
  const proposal = await memory.reject(user, id, { by, why: context.values.why })
  return { json: { proposal }, text: () => `Rejected: ${printable(proposal.label)} is unchanged\n` }
}

async function revert({ memory, user, by, context }: Desk, [id = '']: readonly string[]): Promise<Report> {
  const body = await givenBody(context)
  const done = await memory.revert(user, id, { by, why: context.values.why, body })
  const now = done.block ? `is at version ${done.block.version}` : 'was removed again'
  return { json: done, text: () => `Reverted: ${printable(done.proposal.label)} ${now}\n` }
}

const SOURCES: Record<'tool' | 'user' | 'other', (paint: Paint) => string> = {
  tool: paint => paint.yellow('tool output'),
  user: () => 'what you said',
  other: () => 'the conversation',
}

function* showReview(
  { proposal, merge, diff: parts, titleDiff, hidden, problem, duplicates, fromTools }: Review,
  paint: Paint,
): Generator<string> {
  const { label, kind, agentId, confidence, createdAt, reasoning, state } = proposal
  yield `${paint.bold(printable(label))}  ${kind} by ${printable(agentId)}, ${timeOf(createdAt)}, ${confidence} confidence, ${state}`
  yield `${paint.dim('because')} ${printable(reveal(reasoning))}`
  for (const { session, entry, source = 'other' } of proposal.entries)
    yield `${paint.dim('from')} ${SOURCES[source](paint)}: palimpsest show ${printable(session)} (entry ${entry})`
  if (fromTools) yield paint.yellow('from tool output: a tool printed this text; you did not write it')
  for (const { label: other, text, state: decided } of duplicates) {
    yield paint.yellow(`like ${printable(other)}${decided ? ` (${decided})` : ''}: ${oneLine(reveal(text), 100)}`)
  }
  for (const { char, name, count } of hidden) yield paint.yellow(`hidden: ${char} ${name}, ${amount(count, 'time')}`)
  if (problem) yield paint.red(`cannot be approved as it is: ${printable(problem)}`)
  if (merge.type === 'deleted' && state === 'open') yield paint.red('the block has since been deleted')
  if (merge.type === 'clean' && merge.stale && state === 'open') yield paint.yellow('merged with later changes')
  yield ''
  if (titleDiff.some(({ type }) => type !== 'same')) yield `${paint.dim('title')} ${showParts(titleDiff, paint)}`
  if (merge.type === 'conflict' && state === 'open') {
    yield paint.red('conflict: the block has since changed in the same place')
    yield printable(merge.marked.trimEnd())
  } else yield showParts(parts, paint)
}

/** Colours mark removed and added text; without colours, word-diff marks do. */
function showParts(parts: readonly DiffPart[], paint: Paint): string {
  const plain = paint.red('x') === 'x'
  const styles: Record<DiffPart['type'], (text: string) => string> = {
    same: shortened,
    removed: text => (plain ? `[-${text}-]` : eachLine(text, paint.red)),
    added: text => (plain ? `{+${text}+}` : eachLine(text, paint.green)),
  }
  return parts
    .map(({ type, text }) => styles[type](printable(text)))
    .join('')
    .trimEnd()
}

/** A long unchanged stretch, shortened to its first and last lines. */
function shortened(text: string): string {
  const lines = text.split('\n')
  return lines.length > 9 ? [...lines.slice(0, 4), '…', ...lines.slice(-4)].join('\n') : text
}

function eachLine(text: string, style: (line: string) => string): string {
  return text
    .split('\n')
    .map(line => (line === '' ? '' : style(line)))
    .join('\n')
}
