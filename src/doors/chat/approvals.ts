/**
 * Asks the person at the terminal before the agent does anything that needs approval: yes, no, or always for commands
 * like this one in this chat. It asks one question at a time, however many calls run at once.
 *
 * "Always" is narrow: the program and its subcommand with other arguments, if these cannot start another program;
 * otherwise exactly that command line. It lasts as long as the chat.
 */
import { type ApprovalRequest, type Approve, fitsPattern } from '../../agent/approval.ts'
import { describeCall } from '../../calls/tool-kinds.ts'

/** Contract: shows the request and resolves with the answer; undefined is a no. */
export type Ask = (
  request: ApprovalRequest,
  patterns: readonly string[],
  signal?: AbortSignal,
) => Promise<string | undefined>

export const ANSWERS = ['yes', 'no', 'always'] as const

export function createApprover(ask: Ask): Approve {
  const allowed: string[] = []
  let queue: Promise<unknown> = Promise.resolve()
  const decide = async (request: ApprovalRequest, signal?: AbortSignal): Promise<boolean> => {
    if (signal?.aborted) return false
    const { command } = describeCall(request.name, request.input)
    if (command !== undefined && allowed.some(pattern => isCovered(command, pattern))) return true
    const patterns = command === undefined ? [] : alwaysPatterns(command)
    const answer = await ask(request, patterns, signal)
    if (answer === 'always') allowed.push(...patterns)
    return answer === 'yes' || answer === 'always'
  }
  return (request, signal) => {
    const answer = queue.then(() => decide(request, signal))
    queue = answer.catch(() => undefined)
    return answer
  }
}

/** A pattern without a `*` is the command itself, whatever characters it has. */
function isCovered(command: string, pattern: string): boolean {
  return command.trim() === pattern || (pattern.endsWith(' *') && fitsPattern(command, pattern))
}

/** Programs that run whatever they are given, or whose arguments make them dangerous. */
const ANYTHING = new Set(
  (
    'sh bash zsh dash fish ksh python python3 node deno bun perl ruby php lua awk sed env xargs exec eval nohup timeout ' +
    'time nice sudo doas su ssh scp rsync curl wget find rm mv cp dd chmod chown kill pkill killall docker podman make ' +
    'npx pnpx bunx uvx pipx tee git'
  ).split(' '),
)
const SPECIAL = /[;&|<>$`()\n\r\\'"*]/

/** The patterns that "always" would allow from now on. */
export function alwaysPatterns(command: string): string[] {
  const whole = command.trim()
  const [program = '', sub = ''] = whole.split(/\s+/)
  const name = program.split('/').at(-1) ?? program
  if (SPECIAL.test(whole)) return [whole]
  const isReading = name === 'git' && /^(status|log|diff|show|branch)$/.test(sub)
  if (ANYTHING.has(name) && !isReading) return [whole]
  const begin = /^[a-z][\w:-]*$/i.test(sub) ? `${program} ${sub}` : program
  return [begin, `${begin} *`]
}
