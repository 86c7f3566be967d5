/** Slash commands about sessions: /cost /sessions /resume /fork /continue /model /persona /export /clear /quit. */

import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { PalimpsestError } from '../../model/errors.ts'
import { amount, withCommas } from '../../model/text.ts'
import { sessions } from '../commands/sessions.ts'
import { reasonOf } from '../terminal/command.ts'
import { span } from '../terminal/spans.ts'
import { padEnd } from '../terminal/width.ts'
import { runCommand } from './cli-report.ts'
import type { Desk, Slash } from './desk.ts'
import { exportSession, toMarkdown } from './export.ts'
import { isUnfinished } from './recap.ts'
import { newSessionName } from './session-names.ts'
import { dollars, percent } from './status.ts'

export const sessionCommands: readonly Slash[] = [
  { name: 'cost', usage: '', about: 'show the tokens and cost of the session', run: cost },
  {
    name: 'sessions',
    usage: '[TEXT]',
    about: 'list sessions, most recently used first',
    run: (desk, [contains]) =>
      runCommand(desk, sessions, {
        args: [],
        values: { limit: '20', ...(contains === undefined ? {} : { contains }) },
      }),
  },
  { name: 'resume', usage: 'NAME', about: 'switch to another session', run: resume },
  { name: 'fork', usage: '[NAME]', about: 'continue in a copy of this session', run: fork },
  {
    name: 'continue',
    usage: '',
    about: 'continue an interrupted turn',
    async run(desk) {
      if (!isUnfinished(desk.agent.session)) return desk.say('No turn was interrupted. Type a new request.')
      await desk.turn()
    },
  },
  { name: 'model', usage: '[NAME]', about: 'show or change the model', run: model },
  { name: 'persona', usage: '[NAME]', about: 'list personas, or switch to one', run: persona },
  {
    name: 'export',
    usage: 'FILE',
    about: 'write the session to a file: .json complete with edits, .md to read',
    run: exportTo,
  },
  {
    name: 'clear',
    usage: '',
    about: 'start a new session; this one is kept',
    async run(desk) {
      const before = desk.agent.session.id
      await desk.enter({ session: await newSessionName(desk.home.pal) })
      desk.say(`${before} is kept: /resume ${before}`, 'dim')
    },
  },
  { name: 'quit', usage: '', about: 'leave; the session is kept', run: async desk => desk.leave() },
]

async function cost(desk: Desk): Promise<void> {
  const { calls, input, cacheRead, cacheWrite, output, dollars: money } = await desk.agent.cost()
  const all = input + cacheRead + cacheWrite
  const rows: [string, string][] = [
    ['model calls', withCommas(calls)],
    ['tokens in', `${withCommas(all)}, ${percent(all > 0 ? cacheRead / all : 0)} read from the cache`],
    ['tokens out', withCommas(output)],
    ['cost', `${dollars(money)} by the price table`],
  ]
  desk.screen.print(...rows.map(([name, value]) => [span(`  ${padEnd(name, 20)}`, 'dim'), span(value)]))
}

async function resume(desk: Desk, [name]: readonly string[]): Promise<void> {
  const { pal } = desk.home
  if (name === undefined)
    throw new PalimpsestError('INVALID_INPUT', 'Name a session: /resume NAME. /sessions lists them.')
  if (await pal.find(name)) return desk.enter({ session: name })
  const near = (await pal.sessions({ contains: name, limit: 3 })).map(({ id }) => id)
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : '/sessions lists them.'
  throw new PalimpsestError('SESSION_NOT_FOUND', `There is no session ${name}. ${hint}`, { session: name })
}

async function fork(desk: Desk, [name]: readonly string[]): Promise<void> {
  const made = await desk.agent.session.fork(undefined, name)
  await desk.enter({ session: made.id })
}

async function model(desk: Desk, [name]: readonly string[]): Promise<void> {
  const { agent, home } = desk
  if (name === undefined) {
    const { window, input, output } = agent.session.options.model
    return desk.say(
      `${agent.model.name}: a window of ${withCommas(window)} tokens, ${dollars(input)} in and ${dollars(output)} out for a million. Change it with /model NAME`,
    )
  }
  if (home.demo) throw new PalimpsestError('INVALID_INPUT', 'The demo has only one model, its script.')
  await desk.enter({ model: name })
}

async function persona(desk: Desk, [name]: readonly string[]): Promise<void> {
  if (name !== undefined) return desk.enter({ persona: name })
  const { listPersonas } = await import('../../agent/personas.ts')
  const all = await listPersonas(desk.home.home)
  for (const { name: own, description = '' } of all) {
    const mark = own === desk.agent.persona.name ? '›' : ' '
    desk.screen.print([span(`${mark} ${padEnd(own, 16)} `, 'bold'), span(description, 'dim')])
  }
}

async function exportTo(desk: Desk, [file]: readonly string[]): Promise<void> {
  if (file === undefined) throw new PalimpsestError('INVALID_INPUT', 'Name a file: /export talk.json')
  const { agent, home } = desk
  const path = resolve(home.root, file)
  const session = await exportSession(agent.session, { model: agent.model.name, persona: agent.persona.name })
  const text = /\.(?:md|markdown)$/i.test(path) ? toMarkdown(session) : `${JSON.stringify(session, null, 2)}\n`
  await writeFile(path, text, { flag: 'wx' }).catch(cause => {
    const why = cause.code === 'EEXIST' ? 'the file already exists' : reasonOf(cause)
    throw new PalimpsestError('INVALID_INPUT', `Cannot write ${path}: ${why}. Choose another name.`, { path }, cause)
  })
  desk.say(`${amount(session.entries.length, 'entry', 'entries')} in ${path}`)
}
