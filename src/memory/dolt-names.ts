/**
 * What Dolt is told about who and what: names of branches, authors of commits, messages. Names from outside become
 * letters that mean nothing to Dolt, SQL or Git before they get anywhere. Pure.
 */
import type { Actor, Note, Proposal } from './store.ts'

/** `agent/{user}/{label}/{id}`; what is not a letter, a digit, `-` or `_` is written as the hex of its bytes. */
export function branchOf({ userId, label, id }: Pick<Proposal, 'userId' | 'label' | 'id'>): string {
  return `agent/${safe(userId)}/${safe(label)}/${safe(id)}`
}

/** The id that is in a branch's name, where the name is one of ours. */
export function idInBranch(branch: string): string | undefined {
  return /^agent\/[\w=-]+\/[\w=-]+\/([a-z0-9]+)$/.exec(branch)?.[1]
}

/** When an id was made: its first nine digits are a time. */
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

export function noteMessage(note: Note, labels: readonly string[], version?: string): string {
  const what = labels.length === 1 ? labels[0] : `${labels.length} blocks`
  return message(`${note.action[0]?.toUpperCase()}${note.action.slice(1)} ${what}`, note.why, [
    `Action: ${note.action}`,
    `By: ${note.by}`,
    `At: ${note.at}`,
    ...(note.proposal ? [`Proposal: ${note.proposal}`] : []),
    ...(version ? [`Version: ${version}`] : []),
  ])
}

/** What a commit of ours says about itself; nothing of one that somebody made by hand. */
export function readMessage(text: string): { why: string; fields: Map<string, string> } {
  const paragraphs = text.split('\n\n')
  const last = paragraphs.at(-1) ?? ''
  const fields = new Map([...last.matchAll(/^(\w+): (.*)$/gm)].map(([, name = '', value = '']) => [name, value]))
  return fields.has('Action') ? { why: paragraphs.slice(1, -1).join('\n\n'), fields } : { why: text, fields: new Map() }
}

function message(subject: string, text: string, fields: readonly string[]): string {
  return [subject, ...(text.trim() ? [text.trim()] : []), fields.join('\n')].join('\n\n')
}

function safe(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, char =>
    [...new TextEncoder().encode(char)].map(byte => `=${byte.toString(16).padStart(2, '0')}`).join(''),
  )
}
