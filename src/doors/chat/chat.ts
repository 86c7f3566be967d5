/**
 * The chat: reads a request, shows the turn, asks before calls that need approval, and keeps the status of the session.
 * It holds the agent of the current session; slash commands may replace it.
 *
 * Everything that matters is in the ledger: leaving, Ctrl-C and a crash lose nothing but the text on the screen.
 */

import type { Agent } from '../../agent/agent.ts'
import type { ApprovalRequest } from '../../agent/approval.ts'
import type { AgentEvent, ContextUse } from '../../agent/events.ts'
import type { Home } from '../../agent/open.ts'
import { describeCall } from '../../calls/tool-kinds.ts'
import { isPalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import type { Io } from '../terminal/command.ts'
import type { Input } from '../terminal/input.ts'
import { oneLine, printable } from '../terminal/output.ts'
import type { Screen } from '../terminal/screen.ts'
import { clipLine, type Line, type Look, span, wrap } from '../terminal/spans.ts'
import { clip } from '../terminal/width.ts'
import { ANSWERS } from './approvals.ts'
import { Collapsed, inputLines } from './collapsed.ts'
import type { Choice, Desk } from './desk.ts'
import { isUnfinished, recapLines } from './recap.ts'
import { findSlash, isSlash } from './slash.ts'
import { statusLine } from './status.ts'
import { TurnView } from './turn-view.ts'

export type ChatOptions = {
  io: Io
  screen: Screen
  input: Input
  /** Opens the home, with another model if one is named. */
  start: (model?: string) => Promise<Home>
}

/** A command that is told to end gets two seconds; this leaves one more. */
const GRACE_MS = 3_000

const DEMO =
  'This is a demo: the model is a script that ships with palimpsest, and the project is a sample in its own folder. Ask ' +
  'for anything, then try /context, /edits and /memory.'

export class Chat implements Desk {
  readonly io: Io
  readonly screen: Screen
  readonly input: Input
  readonly collapsed = new Collapsed()
  terminalIsGone = false
  home: Home
  agent: Agent
  readonly #start: ChatOptions['start']
  #view: TurnView | undefined
  #context: ContextUse | undefined
  #cost = 0
  #proposals = 0
  #stop: AbortController | undefined
  #left = false
  #code = 0

  /** Use `openChat`. */
  constructor({ io, screen, input, start }: ChatOptions, home: Home, agent: Agent) {
    this.io = io
    this.screen = screen
    this.input = input
    this.#start = start
    this.home = home
    this.agent = agent
  }

  /** Runs until the user leaves or the input ends. Returns the exit code. */
  async run(): Promise<number> {
    await this.#enter()
    if (this.home.demo) this.say(DEMO, 'magenta')
    while (!this.#left) {
      const text = await this.input.read()
      if (text === undefined) break
      if (text.trim() !== '') await this.#answer(text)
    }
    return this.#code
  }

  /** Runs one turn: a request, or the unfinished rest of the last one. */
  async turn(request?: string): Promise<void> {
    const stop = new AbortController()
    this.#stop = stop
    const view = new TurnView(this.screen, this.collapsed, () => this.input.typed)
    this.#view = view
    let presses = 0
    this.input.interrupted = () => {
      stop.abort()
      if (++presses > 1) this.leaveSoon(130)
    }
    try {
      const options = { signal: stop.signal }
      const events = request === undefined ? this.agent.resume(options) : this.agent.run(request, options)
      for await (const event of events) view.show(event)
    } finally {
      view.end()
      this.#view = undefined
      this.#stop = undefined
      this.input.interrupted = () => {}
    }
    if (!this.#left) await this.#after(view)
  }

  /** Asks before a call; undefined is a no. */
  async ask(request: ApprovalRequest, patterns: readonly string[], signal?: AbortSignal): Promise<string | undefined> {
    const view = this.#view
    if (!view) return undefined
    const words = patterns.length > 0 ? ANSWERS : ANSWERS.filter(word => word !== 'always')
    const lines = questionLines(request, this.screen.width)
    const answered = view.ask([...lines, answersLine(words, patterns)], recordLine(request, this.screen.width))
    const answer = await this.input.choose(words, { signal, changed: () => view.draw() })
    answered(span(answer ?? 'no', answer === undefined || answer === 'no' ? 'red' : 'green'))
    return answer
  }

  /** Asks a yes-or-no question of the chat itself. */
  async confirm(question: string): Promise<boolean> {
    return (await this.choose(question, ['yes', 'no'])) === 'yes'
  }

  async choose(question: string, words: readonly string[]): Promise<string | undefined> {
    const line: Line = [span(`${question} `), span(`${keysOf(words)} `, 'dim')]
    const changed = () => this.screen.live([[...line, span(this.input.typed)]])
    if (this.screen.moves) changed()
    else this.screen.print(line)
    const answer = await this.input.choose(words, { changed })
    this.screen.live([])
    if (this.screen.moves) this.screen.print([span(`${question} `), span(answer ?? 'no', 'bold')])
    return answer
  }

  /** Switches to another session, or reopens this one with another persona or model. */
  async enter({ session = this.agent.session.id, persona, model }: Choice): Promise<void> {
    const home = model === undefined ? this.home : await this.#start(model)
    try {
      this.agent = await home.open(session, { personaName: persona })
    } catch (error) {
      if (home !== this.home) await home.close()
      throw error
    }
    if (home !== this.home) await this.home.close()
    this.home = home
    this.#context = undefined
    await this.#enter()
  }

  say(text: string, ...looks: Look[]): void {
    this.screen.print(...wrap([span(printable(text), ...looks)], this.screen.width))
  }

  leave(): void {
    this.#left = true
  }

  /** Ends the chat from outside: running work is stopped first, as far as time allows. */
  leaveSoon(code: number, { terminalIsGone = false } = {}): void {
    this.#left = true
    this.#code = code
    if (terminalIsGone) {
      this.terminalIsGone = true
      this.screen.mute()
    }
    setTimeout(() => process.exit(code), GRACE_MS).unref()
    if (this.#stop) this.#stop.abort()
    else if (terminalIsGone) process.exit(code)
    else this.input.close()
  }

  async #enter(): Promise<void> {
    const { session } = this.agent
    this.#cost = (await this.agent.cost()).dollars
    this.#proposals = (await this.#openProposals()).length
    this.screen.print(...(await recapLines(this.agent, this.screen)))
    if (isUnfinished(session)) {
      this.say('The last turn was interrupted. Continue it with /continue, or ask for something else.', 'yellow')
    }
  }

  async #answer(text: string): Promise<void> {
    try {
      if (!isSlash(text)) return await this.turn(text)
      const { slash, args } = findSlash(text)
      await slash.run(this, args)
    } catch (error) {
      if (!isPalimpsestError(error)) throw error
      this.say(error.message, 'red')
    }
  }

  async #after(view: TurnView): Promise<void> {
    this.#context = view.context ?? this.#context
    this.#cost += view.done?.cost ?? 0
    const waiting = await this.#openProposals()
    if (waiting.length > this.#proposals) {
      if (this.screen.laidOut) this.screen.print([])
      this.say(`${amount(waiting.length, 'memory proposal')} for you to decide on: /memory`, 'magenta')
    }
    this.#proposals = waiting.length
    if (this.screen.laidOut) this.screen.print([], clipLine(await this.#status(view.done), this.screen.width), [])
  }

  async #status(done: Extract<AgentEvent, { type: 'done' }> | undefined): Promise<Line> {
    const context = this.#context ?? (await this.#counted())
    return statusLine({ context, cost: this.#cost, ...(done ? { steps: done.steps } : {}) })
  }

  /** Our own count, if the provider reports none. */
  async #counted(): Promise<ContextUse> {
    const { tokens } = await this.agent.session.view({ plan: false })
    return { tokens, window: this.agent.session.options.model.window, cached: 0 }
  }

  #openProposals() {
    const { memory, user } = this.home
    return memory.proposals(user, { state: 'open', limit: 100 })
  }
}

function questionLines({ name, input, question }: ApprovalRequest, width: number): Line[] {
  const { command } = describeCall(name, input)
  if (command === undefined) {
    return [[span('  ? ', 'yellow'), span(printable(question), 'bold')], ...inputLines(name, input)]
  }
  const lines = printable(command).split('\n')
  return [
    [span('  ? ', 'yellow'), span('Run this command?', 'bold')],
    ...lines.flatMap(line => wrap([span(line, 'cyan')], width - 4)).map(line => [span('    '), ...line]),
  ]
}

function recordLine({ name, input, question }: ApprovalRequest, width: number): Line {
  const { command } = describeCall(name, input)
  return [span('  ? ', 'yellow'), span(clip(oneLine(command ?? question, 400), Math.min(width, 110) - 14)), span('  ')]
}

function answersLine(words: readonly string[], patterns: readonly string[]): Line {
  const always =
    patterns.length > 0 ? `  (always: ${patterns.map(pattern => `"${printable(pattern)}"`).join(' and ')})` : ''
  return [span(`    ${keysOf(words)}`, 'yellow'), span(always, 'dim')]
}

/** Formats words as `[y]es [n]o`. */
function keysOf(words: readonly string[]): string {
  return words.map(word => `[${word[0]}]${word.slice(1)}`).join(' ')
}
