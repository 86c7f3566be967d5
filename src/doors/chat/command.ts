/**
 * `chat`: the agent in a terminal. This file reads the options and opens the home and session that they name; the chat
 * itself is in chat.ts. In a pipe it reads requests line by line and ends with the input.
 */
import { PalimpsestError } from '../../model/errors.ts'
import { PLANNER_OPTIONS } from '../commands/planner-options.ts'
import { sessions } from '../commands/sessions.ts'
import { defineCommand } from '../terminal/command.ts'
import { warnOfReaders } from '../terminal/home-readers.ts'

const OPTIONS = {
  session: { type: 'string', short: 's', value: 'NAME', about: 'the session to continue or start' },
  resume: { type: 'boolean', short: 'r', about: 'continue the most recently used session' },
  list: { type: 'boolean', about: 'list the sessions and exit' },
  fork: { type: 'string', value: 'NAME', about: 'continue in a copy of this session' },
  persona: {
    type: 'string',
    value: 'NAME',
    about: "the persona to use (the session's, or the chosen one)",
  },
  model: { type: 'string', short: 'm', value: 'NAME', about: 'the model to use' },
  yes: {
    type: 'boolean',
    short: 'y',
    about: 'run commands and use files outside the folder without asking; memory still needs your approval',
  },
  demo: { type: 'boolean', about: 'use a scripted model on a sample project; needs no API key' },
  root: { type: 'string', value: 'DIR', about: 'the folder to work in (the current one)' },
  ...PLANNER_OPTIONS,
} as const

export const chat = defineCommand({
  name: 'chat',
  summary: 'talk to the agent in the terminal',
  usage: '',
  details:
    'For a request of several lines, end a line with a backslash, press Alt-Enter, or paste. Ctrl-C stops a turn and\n' +
    'keeps the session; twice at the prompt, or Ctrl-D, leaves. /help lists the commands of the chat.',
  examples: ['palimpsest chat --demo', 'palimpsest chat --session fix-login', 'palimpsest chat --resume --model gpt-5'],
  options: OPTIONS,
  async run(context) {
    const { values } = context
    const named = [values.session, values.resume, values.list, values.fork].filter(value => value !== undefined)
    if (named.length > 1)
      throw new PalimpsestError('INVALID_INPUT', 'Use only one of --session, --resume, --list and --fork.')
    if (values.list) return sessions.run({ ...context, values: {} })
    if (values.json) {
      throw new PalimpsestError('INVALID_INPUT', 'A chat has no JSON output. For programs, use: palimpsest ask --json')
    }
    const { openChat } = await import('./open.ts')
    // The demo has a home of its own unless one is named.
    const home = values.demo && values.home === undefined ? undefined : context.home
    if (home !== undefined) warnOfReaders(home, context.io)
    const exit = await openChat({ values, io: context.io, home })
    return { json: {}, text: () => '', exit }
  },
})
