/**
 * Names for Dolt: branches, authors of commits, messages. Names from outside are first encoded in characters that
 * have no meaning to Dolt, SQL or Git. Pure.
 */
import type { Actor, Change, Note, Proposal } from './store.ts'

/**
 * `agent/{user}/{label}/{id}`; any character except letters, digits, `-` and `_` is written as the hex of its bytes.
 */
export function branchOf({ userId, label, id }: Pick<Proposal, 'userId' | 'label' | 'id'>): string {
  return `agent/${safe(userId)}/${safe(label)}/${safe(id)}`
}

/** The id in a branch's name, if the branch is ours. */
export function idInBranch(branch: string): string | undefined {
  return /^agent\/[\w=-]+\/[\w=-]+\/([a-z0-9]+)$/.exec(branch)?.[1]
}

/** The time when an id was made: its first nine digits. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 9), 36)
}

/** An author as Dolt wants it: `name <address>`. */
export function authorOf(actor: Actor): string {
  const [role = '', ...rest] = actor.split(':')
  const name = rest.join(':').replace(/[<>]/g, '_').trim() || role
  return `${name} <${safe(name)}@${role}.palimpsest>`
}

export function proposalMessage({
  id,
  userId,
  label,
  kind,
  reasoning,
  confidence,
  entries,
  agentId,
}: Proposal): string {
  const links = entries.map(({ session, entry }) => `Entry: ${safe(session)}#${entry}`)
  return message(`Propose ${kind} of ${label}`, reasoning, [
    `Agent: ${agentId}`,
    `Confidence: ${confidence}`,
    `User: ${userId}`,
    `Proposal: ${id}`,
    ...links,
  ])
}

/** If a commit changes more blocks than this, they are not named one by one. */
const NAMED = 50

export function noteMessage(note: Note, changes: readonly Change[]): string {
  const [only] = changes.length === 1 ? changes : []
  const what = only
    ? only.label
    : changes.length > 0
      ? `${changes.length} blocks`
      : note.proposal
        ? 'a proposal'
        : 'tables'
  return message(`${note.action[0]?.toUpperCase()}${note.action.slice(1)} ${what}`, note.why, [
    `Action: ${note.action}`,
    `By: ${note.by}`,
    `At: ${note.at}`,
    ...(note.proposal ? [`Proposal: ${note.proposal}`] : []),
    ...(only ? [`Version: ${only.version}`] : []),
    ...(changes.length > NAMED ? [`Blocks: ${changes.length}`] : changes.map(blockLine)),
  ])
}

/** False for a commit that names only other blocks as changed. */
export function mayTouch(text: string, block: { userId: string; label: string }): boolean {
  const { fields, lines } = readMessage(text)
  return !fields.has('Action') || fields.has('Blocks') || lines.includes(blockLine(block))
}

function blockLine({ userId, label }: { userId: string; label: string }): string {
  return `Block: ${JSON.stringify([userId, label])}`
}

/** Reads the fields in the last paragraph of our commit messages; empty for a commit that somebody made by hand. */
export function readMessage(text: string): { why: string; fields: Map<string, string>; lines: string[] } {
  const paragraphs = text.split('\n\n')
  const lines = (paragraphs.at(-1) ?? '').split('\n')
  const fields = new Map(lines.map(line => [line.split(': ', 1)[0]!, line.slice(line.indexOf(': ') + 2)]))
  if (!fields.has('Action') || !fields.has('By')) return { why: text, fields: new Map(), lines: [] }
  return { why: paragraphs.slice(1, -1).join('\n\n'), fields, lines }
}

function message(subject: string, text: string, fields: readonly string[]): string {
  return [subject, ...(text.trim() ? [text.trim()] : []), fields.join('\n')].join('\n\n')
}

function safe(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, char =>
    [...new TextEncoder().encode(char)].map(byte => `=${byte.toString(16).padStart(2, '0')}`).join(''),
  )
}
