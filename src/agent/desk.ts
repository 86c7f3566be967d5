/**
 * Turns of agents that somebody follows over a network. A turn runs here, whoever listens: a reader that goes away
 * stops following, not the agent, and one that comes back gets the turn from its beginning. One turn at a time in a
 * session; what needs approval waits here for its answer.
 */
import { ledgerId } from '../ledger/owners.ts'
import { PalimpsestError } from '../model/errors.ts'
import type { Message } from '../model/types.ts'
import type { Agent, AgentRequest } from './agent.ts'
import type { Approve } from './approval.ts'
import type { AgentEvent } from './events.ts'
import type { Home } from './open.ts'

export type TurnInput = {
  session: string
  /** The user that the session belongs to; none for one of the home itself. */
  owner?: string | undefined
  /** Nothing resumes a turn that was broken off. */
  request?: AgentRequest | undefined
  /** What was said before it elsewhere. */
  history?: readonly Message[]
  /** Whose memory, and which tools; see `guestOptions`. */
  guest?: Guest | undefined
  persona?: string | undefined
  /** Whether somebody can be asked; without it what needs approval is refused. */
  canAsk?: boolean
}

/** Somebody who is not at home on this machine: no files, no commands, a workspace of their own. */
export type Guest = {
  user: string
  workspace: string
  hasFiles: boolean
}

type Waiting = { question: string; answer: (yes: boolean) => void }

/** A turn that runs or has just ended: its events so far, and those who wait for the next. */
export class RunningTurn {
  readonly session: string
  readonly ended: Promise<void>
  readonly waiting = new Map<string, Waiting>()
  readonly #events: AgentEvent[] = []
  readonly #stop = new AbortController()
  #wake = Promise.withResolvers<void>()
  #done = false

  constructor(session: string, start: (turn: RunningTurn, signal: AbortSignal) => AsyncIterable<AgentEvent>) {
    this.session = session
    this.ended = this.#run(start(this, this.#stop.signal))
  }

  /** Answers what it asked. */
  answer(id: string, yes: boolean): void {
    const waiting = this.waiting.get(id)
    if (!waiting) throw new PalimpsestError('NOT_FOUND', 'Nothing of this id waits for an answer here.', { id })
    waiting.answer(yes)
  }

  stop(): void {
    this.#stop.abort()
    for (const { answer } of this.waiting.values()) answer(false)
  }

  /** Every event from the beginning, as they come. */
  async *events(): AsyncGenerator<AgentEvent> {
    for (let next = 0; ; ) {
      while (next < this.#events.length) yield this.#events[next++]!
      if (this.#done) return
      await this.#wake.promise
    }
  }

  async #run(events: AsyncIterable<AgentEvent>): Promise<void> {
    try {
      for await (const event of events) this.#add(event)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      this.#add({ type: 'done', reason: 'failed', message, steps: 0, cost: 0 })
    }
    this.#done = true
    this.#wake.resolve()
  }

  #add(event: AgentEvent): void {
    this.#events.push(event)
    this.#wake.resolve()
    this.#wake = Promise.withResolvers<void>()
  }
}

export class AgentDesk {
  readonly #open: () => Promise<Home>
  #home: Promise<Home> | undefined
  /** By the ids of their sessions in the ledger. */
  readonly #turns = new Map<string, RunningTurn>()

  /** The home is opened when it is first needed: a server without a model serves everything else. */
  constructor(open: () => Promise<Home>) {
    this.#open = open
  }

  home(): Promise<Home> {
    this.#home ??= this.#open().catch(error => {
      this.#home = undefined
      throw error
    })
    return this.#home
  }

  /** The turn that runs in the session of that id in the ledger, if any. */
  running(id: string): RunningTurn | undefined {
    return this.#turns.get(id)
  }

  async start(input: TurnInput): Promise<RunningTurn> {
    const { session, owner, request, history = [] } = input
    const home = await this.home()
    const id = ledgerId(owner, session)
    if (this.#turns.has(id)) {
      throw new PalimpsestError('ALREADY', 'The agent is working in this session. Stop it, or wait.', { session })
    }
    const opened = Promise.withResolvers<Agent>()
    const turn = new RunningTurn(session, async function* (_, signal) {
      const agent = await opened.promise
      yield* request === undefined ? agent.resume({ signal }) : agent.run(request, { signal, history })
    })
    this.#turns.set(id, turn)
    void turn.ended.then(() => this.#turns.delete(id))
    try {
      opened.resolve(await openFor(home, input, turn))
      return turn
    } catch (error) {
      opened.reject(error)
      await turn.ended
      throw error
    }
  }

  async close(): Promise<void> {
    for (const turn of this.#turns.values()) turn.stop()
    await Promise.all([...this.#turns.values()].map(({ ended }) => ended))
    const home = await this.#home?.catch(() => undefined)
    await home?.close()
  }
}

async function openFor(
  home: Home,
  { session, owner, guest, persona, canAsk }: TurnInput,
  turn: RunningTurn,
): Promise<Agent> {
  const chosen = await home.persona(session, persona, owner)
  const approve: Approve = ({ id, question }) =>
    new Promise(resolve => {
      const answer = (yes: boolean) => {
        turn.waiting.delete(id)
        resolve(yes)
      }
      turn.waiting.set(id, { question, answer })
    })
  return home.open(session, {
    personaName: chosen.name,
    owner,
    ...(canAsk ? { approve } : {}),
    ...(guest ? guestOptions(guest, chosen.tools) : {}),
    // In a session of the home itself a guest sees nothing of the others.
    seesSessions: guest === undefined || owner !== undefined,
  })
}

const AT_HOME_ONLY = ['files', 'shell']
const GUEST_TOOLS = ['context', 'memory', 'workspace', 'delegate']

/** What a guest's agent is opened with. */
function guestOptions(
  { user, workspace, hasFiles }: Guest,
  tools: readonly string[] = [...AT_HOME_ONLY, ...GUEST_TOOLS],
) {
  const allowed = hasFiles ? tools : tools.filter(tool => GUEST_TOOLS.includes(tool) || tool === 'recall')
  return { user, workspace, toolNames: allowed }
}
