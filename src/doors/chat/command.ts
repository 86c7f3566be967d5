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
  session: { type: 'string', short: 's', value: 'NAME', about: 'the session to go on with, or to begin' },
  resume: { type: 'boolean', short: 'r', about: 'go on with the session used last' },
  list: { type: 'boolean', about: 'list the sessions and end' },
  fork: { type: 'string', value: 'NAME', about: 'go on in a copy of this session; it stays as it is' },
  persona: {
    type: 'string',
    value: 'NAME',
    about: 'who answers (the persona that the session had, or the chosen one)',
  },
  model: { type: 'string', short: 'm', value: 'NAME', about: 'which model answers' },
  yes: { type: 'boolean', short: 'y', about: 'do not ask before commands and files elsewhere; memory always asks' },
  demo: { type: 'boolean', about: 'a scripted model on a sample project: no key needed' },
  root: { type: 'string', value: 'DIR', about: 'the folder to work in (this one)' },
  ...PLANNER_OPTIONS,
} as const

export const chat = defineCommand({
  name: 'chat',
  summary: 'talk to the agent in the terminal',
  usage: '',
  details:
    'A backslash at the end of a line, Alt-Enter or a paste makes a request of several lines. Ctrl-C stops a turn and\n' +
    'keeps the session; twice at the prompt, or Ctrl-D, leaves. /help lists what can be done inside.',
  examples: ['palimpsest chat --demo', 'palimpsest chat --session fix-login', 'palimpsest chat --resume --model gpt-5'],
  options: OPTIONS,
  async run(context) {
    const { values } = context
    const named = [values.session, values.resume, values.list, values.fork].filter(value => value !== undefined)
    if (named.length > 1)
      throw new PalimpsestError('INVALID_INPUT', 'Give one of --session, --resume, --list and --fork.')
    if (values.list) return sessions.run({ ...context, values: {} })
    if (Reflect.get(values, 'json') === true) {
      throw new PalimpsestError(
        'INVALID_INPUT',
        'A chat has no JSON form. For programs there is: palimpsest ask --json',
      )
    }
    const { openChat } = await import('./open.ts')
    // The demo has a home of its own unless one is named.
    const isNamed = Reflect.get(values, 'home') !== undefined
    const home = values.demo && !isNamed ? undefined : context.home
    if (home !== undefined) warnOfReaders(home, context.io)
    const exit = await openChat({ values, io: context.io, home })
    return { json: {}, text: () => '', exit }
  },
})
