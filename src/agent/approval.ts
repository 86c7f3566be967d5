/**
 * What an agent may do without asking, and the question it asks otherwise.
 *
 * Shell commands and files outside the root (and outside its own workspace) need approval. Rules can allow them in
 * advance; without a rule and without a user to ask, the call is refused with a result that says why. Changes to
 * memory, and to the workspace files that define the agent, are not covered here: they are proposals, and no rule
 * applies to them.
 */

export type ApprovalRequest = {
  id: string
  /** The tool. */
  name: string
  input: unknown
  /** One sentence that a person can answer with yes or no. */
  question: string
}

/** Contract: resolves with a person's answer. It never rejects; if nobody can be asked, the answer is no. */
export type Approve = (request: ApprovalRequest, signal?: AbortSignal) => Promise<boolean>

export type AllowRules = {
  /** Everything, as `--yes` does. */
  all?: boolean
  /** Command lines; a `*` matches anything that cannot begin another command. */
  commands?: readonly string[]
  /** Folders outside the root whose files may be read and written. */
  folders?: readonly string[]
}

/** What a call needs approval for; most calls need none. */
export type Concern =
  | { kind: 'command'; command: string }
  /** A file outside the working folder, or one of Palimpsest's own files. */
  | { kind: 'file'; path: string; writes: boolean; where: keyof typeof FILES }

const FILES = {
  outside: 'a file outside the working folder',
  own: 'a file of Palimpsest itself',
}

export function questionAbout(concern: Concern): string {
  if (concern.kind === 'command') return `Run this command? ${concern.command}`
  return `${concern.writes ? 'Change' : 'Read'} ${FILES[concern.where]}? ${concern.path}`
}

export function isAllowed(concern: Concern, { all = false, commands = [] }: AllowRules): boolean {
  if (all) return true
  return concern.kind === 'command' && commands.some(pattern => fitsPattern(concern.command, pattern))
}

/** The text for the model when the answer is no, or when nobody could be asked. */
export function refusalText(concern: Concern, asked: boolean): string {
  const what = concern.kind === 'command' ? 'The command was not run' : `${concern.path} was not touched`
  if (asked) return `${what}: the user said no. Do not try it again in another way; ask what they would like instead.`
  const how =
    concern.kind === 'command'
      ? 'allow it with --yes, or with a pattern in agent.allow.commands of palimpsest.json'
      : 'allow it with --yes, or with the folder in agent.allow.folders of palimpsest.json'
  return `${what}: it needs approval, and nobody can give it here. Continue without it, and tell the user that they can ${how}.`
}

/** Characters with which a shell begins another command or writes a file: no `*` matches them. */
const ENDS_COMMAND = /[;&|<>$`()\n\r]/

/**
 * Matches from left to right, each part at the first place where it fits, because a later place would only make the
 * `*` before it cover more. So the time does not grow with the number of stars.
 */
export function fitsPattern(command: string, pattern: string): boolean {
  const text = command.trim()
  const [first = '', ...parts] = pattern.split('*')
  const last = parts.pop()
  if (last === undefined) return text === first
  let at = first.length
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  for (const part of parts) {
    const found = text.indexOf(part, at)
    if (found < 0 || ENDS_COMMAND.test(text.slice(at, found))) return false
    at = found + part.length
  }
  const end = text.length - last.length
  return at <= end && !ENDS_COMMAND.test(text.slice(at, end))
}
