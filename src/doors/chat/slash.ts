/**
 * The commands that begin with a slash: one table for help, completion and this file's search.
 *
 * A line such as `/etc/hosts is wrong` is a request, not a command. If a command of the CLI does the same, that one
 * runs on the session of the chat: there is one way to list edits, and one way to report an undo.
 */
import { PalimpsestError } from '../../model/errors.ts'
import { nearestTo } from '../terminal/nearest.ts'
import { span, wrap } from '../terminal/spans.ts'
import { padEnd } from '../terminal/width.ts'
import type { Slash } from './desk.ts'
import { contextCommands } from './slash-context.ts'
import { memoryCommand } from './slash-memory.ts'
import { sessionCommands } from './slash-sessions.ts'

const help: Slash = {
  name: 'help',
  usage: '',
  about: 'show this list',
  async run({ screen }) {
    const left = Math.max(...SLASHES.map(({ name, usage }) => name.length + usage.length + 2)) + 4
    const room = Math.max(20, screen.width - left)
    for (const { name, usage, about } of SLASHES) {
      const head = span(padEnd(`  /${name} ${usage}`, left), 'cyan')
      screen.print(...wrap([span(about)], room).map((line, i) => [i === 0 ? head : span(' '.repeat(left)), ...line]))
    }
    const keys = KEYS.flatMap(line => wrap([span(line, 'dim')], room + left - 2))
    screen.print([], ...keys.map(line => [span('  '), ...line]))
  },
}

const KEYS = [
  'For a request of several lines, end a line with a backslash, press Alt-Enter, or paste.',
  'Up and Down go through your history, Tab completes commands. What you type while the agent works is sent next.',
  'Ctrl-C stops the turn and keeps the session; twice at the prompt, or Ctrl-D, leaves.',
]

export const SLASHES: readonly Slash[] = [help, ...contextCommands, memoryCommand, ...sessionCommands]

/** Other names that people try. */
const ALIASES: Record<string, string> = { exit: 'quit', q: 'quit', expand: 'show', new: 'clear', '?': 'help' }

export function isSlash(text: string): boolean {
  return /^\/[\w?-]*(?:\s|$)/.test(text)
}

export function findSlash(text: string): { slash: Slash; args: string[] } {
  const [typed = '', ...args] = text.slice(1).trim().split(/\s+/)
  const name = ALIASES[typed] ?? typed
  const slash = SLASHES.find(candidate => candidate.name === name)
  if (slash) return { slash, args }
  const nearest = nearestName(typed)
  const hint = nearest === undefined ? '/help lists them.' : `Did you mean /${nearest}?`
  throw new PalimpsestError('INVALID_INPUT', `There is no command /${typed}. ${hint}`, { command: typed })
}

/** The completions of the beginning of a line. */
export function completeSlash(line: string): string[] {
  return /^\/\S*$/.test(line) ? SLASHES.map(({ name }) => `/${name} `).filter(name => name.startsWith(line)) : []
}

function nearestName(typed: string): string | undefined {
  const names = [...SLASHES.map(({ name }) => name), ...Object.keys(ALIASES)]
  if (typed === '') return undefined
  const found = names.find(name => name.startsWith(typed)) ?? nearestTo(typed, names)
  return found && (ALIASES[found] ?? found)
}
