/** Opens a chat with the options of the command line, runs it, and restores the terminal, whatever happens. */

import { type Home, type OpenAgentOptions, openHome } from '../../agent/open.ts'
import { clientOf, personaOf } from '../../agent/personas.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { type PlannerValues, plannerFrom } from '../commands/planner-options.ts'
import type { Io } from '../terminal/command.ts'
import { History } from '../terminal/history.ts'
import type { Input, InputOptions, Terminal } from '../terminal/input.ts'
import { KeyInput } from '../terminal/key-input.ts'
import { LineInput } from '../terminal/line-input.ts'
import { createScreen } from '../terminal/screen.ts'
import { span } from '../terminal/spans.ts'
import { createApprover } from './approvals.ts'
import { Chat } from './chat.ts'
import { newSessionName } from './session-names.ts'
import { completeSlash } from './slash.ts'

/** The options of the command, by name. */
export type ChatValues = {
  session?: string
  resume?: boolean
  fork?: string
  persona?: string
  model?: string
  yes?: boolean
  demo?: boolean
  root?: string
}

export async function openChat(given: {
  values: ChatValues & PlannerValues
  io: Io
  home: string | undefined
}): Promise<number> {
  const { values, io, home: folder } = given
  const screen = createScreen(io)
  let chat: Chat | undefined
  const approve = createApprover(async (...question) => chat?.ask(...question))
  const { yes, demo, root, persona } = values
  const planner: OpenAgentOptions['planner'] = around => plannerFrom(values, around)
  const start = (model = values.model) =>
    openHome({ home: folder, env: io.env, demo, model, root, yes, approve, planner })
  const home = await start()
  try {
    const agent = await home.open(await sessionFor(home, values), { personaName: persona })
    const input = openInput({
      io,
      history: new History(home.home),
      complete: completeSlash,
      say: text => screen.print([span(text, 'dim')]),
    })
    chat = new Chat({ io, screen, input, start }, home, agent)
    return await runUntilTheEnd(chat)
  } finally {
    await (chat?.home ?? home).close()
    // The streams of a closed terminal would keep the process waiting.
    if (chat?.terminalIsGone) process.exit(HUNG_UP)
  }
}

const HUNG_UP = 129
const TERMINATED = 143

/** SIGTERM, or a terminal that goes away, ends the agent's running work, and then the chat. */
async function runUntilTheEnd(chat: Chat): Promise<number> {
  const end = () => chat.leaveSoon(TERMINATED)
  const hangUp = () => chat.leaveSoon(HUNG_UP, { terminalIsGone: true })
  process.on('SIGTERM', end).on('SIGHUP', hangUp)
  try {
    return await chat.run()
  } finally {
    process.off('SIGTERM', end).off('SIGHUP', hangUp)
    if (!chat.terminalIsGone) chat.input.close()
  }
}

async function sessionFor(home: Home, { session, resume, fork, persona }: ChatValues): Promise<string> {
  const { pal } = home
  if (session !== undefined) return session
  if (fork !== undefined) {
    // The copy belongs to the agent, whoever made the original.
    const about = { client: clientOf(await home.persona(fork, persona)) }
    return (await (await pal.session(fork, { mustExist: true, asGuest: true, about })).fork()).id
  }
  if (!resume) return newSessionName(pal)
  for (const { id, about, length } of await pal.sessions({ limit: 100 })) {
    if (length > 0 && personaOf(about.client) !== undefined && about.parent === undefined) return id
  }
  throw new PalimpsestError('SESSION_NOT_FOUND', 'The agent has no session here yet. Start one: palimpsest chat')
}

function openInput(options: InputOptions): Input {
  const { io } = options
  const stdin: Terminal = io.stdin
  const moves = stdin.isTTY === true && io.stdout.isTTY === true && io.env['TERM'] !== 'dumb'
  return moves && stdin.setRawMode ? new KeyInput(options, stdin) : new LineInput(options, stdin)
}
