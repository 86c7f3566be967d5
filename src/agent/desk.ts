/**
 * Turns of agents that clients follow over a network. A turn runs independently of its readers: a reader that leaves
 * does not stop the agent, and one that returns gets the turn from its beginning. A session has one turn at a time;
 * requests for approval wait here for their answer.
 */
import type { Files } from '../files/store.ts'
import { ledgerId } from '../ledger/owners.ts'
import { messageOf, PalimpsestError } from '../model/errors.ts'
import type { Message } from '../model/types.ts'
import type { Agent, AgentRequest } from './agent.ts'
import type { Approve } from './approval.ts'
import type { AgentEvent } from './events.ts'
import type { Home } from './open.ts'
import { type FollowedTurn, nothingWaits, RemoteTurn, shareTurn } from './remote-turn.ts'
import type { TurnBoard } from './turn-board.ts'

type TurnInput = {
  session: string
  /** The user who owns the session; none for a session of the home itself. */
  owner?: string | undefined
  /** Undefined resumes an interrupted turn. */
  request?: AgentRequest | undefined
  /** Earlier messages from elsewhere. */
  history?: readonly Message[]
  /** Whose memory, and which tools; see `guestOptions`. */
  guest?: Guest | undefined
  persona?: string | undefined
  /** Whether somebody can be asked; if not, a call that needs approval is refused. */
  canAsk?: boolean
}

/** A user who does not work on this machine: no files, no commands, a separate workspace. */
export type Guest = {
  user: string
  workspace: Files
  hasFiles: boolean
}

type Waiting = { question: string; answer: (yes: boolean) => void }

/** A turn that is running or has just ended: its events so far, and the readers that wait for the next. */
export class RunningTurn implements FollowedTurn {
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

  async answer(id: string, yes: boolean): Promise<void> {
    if (!this.hears(id, yes)) throw nothingWaits(id)
  }

  /** Whether a request with this id was waiting for the answer. */
  hears(id: string, yes: boolean): boolean {
    const waiting = this.waiting.get(id)
    waiting?.answer(yes)
    return waiting !== undefined
  }

  async stop(): Promise<void> {
    this.abort()
    await this.ended
  }

  /** Stops the turn without waiting for its end. */
  abort(): void {
    this.#stop.abort()
    for (const { answer } of this.waiting.values()) answer(false)
  }

  eventsFrom(place: number): AgentEvent[] {
    return this.#events.slice(place)
  }

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
      const message = messageOf(error)
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
  /** By the sessions' ids in the ledger. */
  readonly #turns = new Map<string, RunningTurn>()
  readonly #board: TurnBoard | undefined
  readonly #shared = new Set<Promise<void>>()

  /**
   * The home is opened on first use: a server without a model serves everything else. The board is for servers that
   * share a database; the desk closes it.
   */
  constructor(open: () => Promise<Home>, { board }: { board?: TurnBoard | undefined } = {}) {
    this.#open = open
    this.#board = board
  }

  home(): Promise<Home> {
    this.#home ??= this.#open().catch(error => {
      this.#home = undefined
      throw error
    })
    return this.#home
  }

  /** The turn that is running in a session (by its id in the ledger), here or at another server. */
  async running(id: string): Promise<FollowedTurn | undefined> {
    const here = this.#turns.get(id)
    if (here || !this.#board) return here
    const turn = await this.#board.running(id)
    return turn === undefined ? undefined : new RemoteTurn(this.#board, turn)
  }

  async start(input: TurnInput): Promise<RunningTurn> {
    const { session, owner, request, history = [] } = input
    const home = await this.home()
    const id = ledgerId(owner, session)
    if (this.#turns.has(id)) throw isWorking(session)
    // Without a board nothing is awaited here: if two start at once, the second finds the first.
    const held = this.#board ? await this.#board.take(id) : undefined
    if (this.#board && held === undefined) throw isWorking(session)
    const opened = Promise.withResolvers<Agent>()
    const turn = new RunningTurn(session, async function* (_, signal) {
      const agent = await opened.promise
      yield* request === undefined ? agent.resume({ signal }) : agent.run(request, { signal, history })
    })
    this.#turns.set(id, turn)
    void turn.ended.then(() => this.#turns.delete(id))
    if (this.#board && held !== undefined) this.#share(shareTurn(this.#board, held, turn))
    try {
      opened.resolve(await openFor(home, input, turn))
      return turn
    } catch (error) {
      opened.reject(error)
      await turn.ended
      throw error
    }
  }

  /** Removes the board's records of a removed session's turns. */
  async forget(id: string): Promise<void> {
    await this.#board?.forget([id])
  }

  #share(sharing: Promise<void>): void {
    this.#shared.add(sharing)
    void sharing.finally(() => this.#shared.delete(sharing))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#turns.values()].map(turn => turn.stop()))
    await Promise.all(this.#shared)
    await this.#board?.close()
    const home = await this.#home?.catch(() => undefined)
    await home?.close()
  }
}

function isWorking(session: string): PalimpsestError {
  return new PalimpsestError('ALREADY', 'The agent is working in this session. Stop it, or wait.', { session })
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
    // In a session of the home itself, a guest does not see the other sessions.
    seesSessions: guest === undefined || owner !== undefined,
  })
}

const AT_HOME_ONLY = ['files', 'shell']
const GUEST_TOOLS = ['context', 'memory', 'workspace', 'delegate']

function guestOptions(
  { user, workspace, hasFiles }: Guest,
  tools: readonly string[] = [...AT_HOME_ONLY, ...GUEST_TOOLS],
) {
  const allowed = hasFiles ? tools : tools.filter(tool => GUEST_TOOLS.includes(tool) || tool === 'recall')
  return { user, workspace, toolNames: allowed }
}
