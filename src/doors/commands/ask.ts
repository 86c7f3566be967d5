/**
 * `ask`: one request to the agent, for scripts. Only the answer goes to stdout; progress goes to stderr. With --json
 * every event is a line on stdout, the last of them `done`.
 */
import type { Agent } from '../../agent/agent.ts'
import type { Approve } from '../../agent/approval.ts'
import type { AgentEvent } from '../../agent/events.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { type Context, defineCommand, type Io, readInput } from '../terminal/command.ts'
import { createPaint, oneLine, type Paint, printable, wantsColour } from '../terminal/output.ts'
import { programName } from '../terminal/program.ts'
import { waitingNote } from './memory-desk.ts'
import { PLANNER_OPTIONS, plannerFrom } from './planner-options.ts'

const OPTIONS = {
  session: { type: 'string', short: 's', value: 'NAME', about: 'the session to continue or start (a new one)' },
  resume: { type: 'boolean', about: 'continue an interrupted turn, without a new request' },
  persona: { type: 'string', value: 'NAME', about: "the persona to use (the session's, or the chosen one)" },
  model: { type: 'string', short: 'm', value: 'NAME', about: 'the model to use' },
  yes: {
    type: 'boolean',
    short: 'y',
    about: 'run commands and use files outside the folder without asking; memory still needs your approval',
  },
  root: { type: 'string', value: 'DIR', about: 'the folder to work in (the current one)' },
  quiet: { type: 'boolean', short: 'q', about: 'do not report on stderr what the agent does' },
  demo: { type: 'boolean', about: 'use a scripted model on a sample project; needs no API key' },
  ...PLANNER_OPTIONS,
} as const

type AskContext = Context<typeof OPTIONS>

export const ask = defineCommand({
  name: 'ask',
  summary: 'send the agent one request and print its answer',
  usage: '[REQUEST...]',
  details:
    'Without REQUEST, the request is read from stdin; a - in REQUEST is replaced by stdin. The answer goes to stdout, a report\n' +
    "of the agent's actions to stderr. With --json, every event is a JSON object on a line of its own; the last one is done.\n" +
    'Without a terminal, anything that needs approval is refused unless --yes or the configuration allows it.',
  examples: [
    'palimpsest ask --demo "Fix the failing test"',
    'palimpsest ask "What does src/doors/server/server.ts do?"',
    'git diff | palimpsest ask "Review this:" -',
    'palimpsest ask --session nightly --yes --json "Run the tests and fix what fails"',
  ],
  options: OPTIONS,
  async run(context) {
    const { values, home, io } = context
    const request = values.resume ? undefined : await requestOf(context)
    const session = values.session ?? newName()
    const { openAgentFrom } = await import('../../agent/open.ts')
    const opened = await openAgentFrom({
      ...values,
      session,
      home: values.demo && values.home === undefined ? undefined : home,
      env: io.env,
      planner: around => plannerFrom(values, around),
      ...approverFor(io),
    })
    try {
      const done = await tell(opened.agent, request, context)
      return await finish(done, { session, home: opened.home.home, context })
    } finally {
      await opened.close()
    }
  },
})

async function requestOf({ args, io }: AskContext): Promise<string> {
  const words = args.length > 0 ? args : ['-']
  const parts = await Promise.all(words.map(word => (word === '-' ? readInput('-', io) : word)))
  const request = parts.join(words.includes('-') && words.length > 1 ? '\n\n' : ' ').trim()
  if (request === '')
    throw new PalimpsestError('INVALID_INPUT', 'There is no request. Give one as an argument, or send it to stdin.')
  return request
}

type Done = Extract<AgentEvent, { type: 'done' }>

/** Runs the turn and reports its progress; Ctrl-C stops it and keeps the session. */
async function tell(agent: Agent, request: string | undefined, { io, values }: AskContext): Promise<Done> {
  const paint = createPaint(wantsColour(io.env, Reflect.get(io.stderr, 'isTTY') === true))
  const stop = new AbortController()
  const interrupt = () => stop.abort()
  process.once('SIGINT', interrupt)
  const narrate = values.json || values.quiet ? () => [] : narrator({ paint, program: programName(io.env) })
  try {
    const { signal } = stop
    const events = request === undefined ? agent.resume({ signal }) : agent.run(request, { signal })
    for await (const event of events) {
      if (values.json) io.stdout.write(`${JSON.stringify(event)}\n`)
      if (event.type === 'done') return event
      for (const line of narrate(event)) io.stderr.write(`${line}\n`)
    }
  } finally {
    process.off('SIGINT', interrupt)
  }
  throw new PalimpsestError('MODEL_FAILED', 'The turn ended without an answer.')
}

type Voice = { paint: Paint; program: string }

/** Text before tool calls is not the answer: it is reported with the first call. */
function narrator(voice: Voice): (event: AgentEvent) => string[] {
  let said = ''
  return event => {
    if (event.type === 'text') said += event.text
    if (event.type === 'retry') said = ''
    const lines = linesOf(event, said, voice)
    if (event.type === 'call') said = ''
    return lines
  }
}

function linesOf(event: AgentEvent, said: string, voice: Voice): string[] {
  const { paint, program } = voice
  const before = said.trim() === '' ? [] : [printable(said.trim())]
  switch (event.type) {
    case 'call':
      return [...before, paint.cyan(`→ ${event.name} ${oneLine(JSON.stringify(event.input) ?? '', 120)}`)]
    case 'result':
      return [event.isError ? paint.red(`✗ ${oneLine(event.text, 160)}`) : paint.dim(`  ${oneLine(event.text, 120)}`)]
    case 'retry':
      return [paint.yellow(`… ${oneLine(event.reason, 120)}; trying again in ${event.wait / 1000} s`)]
    case 'edits':
      return [paint.dim(`  context: ${oneLine(event.decision, 160)}`)]
    case 'proposals':
      return [paint.yellow(waitingNote(event.ids.length, program))]
    case 'interrupted':
      return [paint.yellow(`  interrupted before: ${event.calls.map(({ name }) => name).join(', ')}`)]
    case 'delegated':
      return linesOf(event.event, '', voice).map(line => `  │ ${line}`)
    default:
      return []
  }
}

type Ending = { session: string; home: string; context: AskContext }

async function finish({ reason, message }: Done, { session, home, context }: Ending): Promise<undefined> {
  const { io, values } = context
  if (reason === 'failed') throw new PalimpsestError('MODEL_FAILED', `${message} (session ${session})`, { session })
  if (!values.json) io.stdout.write(`${printable(message)}\n`)
  const where = values.home !== undefined || values.demo ? ` --home ${home}` : ''
  if (!values.json && !values.quiet)
    io.stderr.write(`Session ${session}. Look at it: ${programName(io.env)} show ${session}${where}\n`)
  if (reason !== 'answered') process.exitCode = reason === 'aborted' ? 130 : 1
  return undefined
}

/** Asks at the terminal, if both input and output are terminals. */
function approverFor(io: Io): { approve?: Approve } {
  const isTerminal = Reflect.get(io.stdin, 'isTTY') === true && Reflect.get(io.stderr, 'isTTY') === true
  if (!isTerminal) return {}
  return {
    async approve({ question }, signal) {
      const { createInterface } = await import('node:readline/promises')
      const prompt = createInterface({ input: io.stdin, terminal: false })
      io.stderr.write(`${printable(question)} [y/N] `)
      try {
        const answer = await prompt.question('', signal ? { signal } : {})
        return /^y(es)?$/i.test(answer.trim())
      } catch {
        return false
      } finally {
        prompt.close()
      }
    },
  }
}

function newName(): string {
  const stamp = new Date().toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15)
  return `ask-${stamp}-${crypto.randomUUID().slice(0, 4)}`
}
