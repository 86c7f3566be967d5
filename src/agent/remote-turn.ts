/**
 * A turn and the board that servers share: `shareTurn` publishes a turn that runs here, and `RemoteTurn` is one that
 * runs at another server. Both poll the board a few times a second, and only while the turn runs.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { PalimpsestError } from '../model/errors.ts'
import type { AgentEvent } from './events.ts'
import { LEASE_MS, STOP, type TurnBoard } from './turn-board.ts'

const LOOK_MS = 250
const RENEW_MS = LEASE_MS / 3

/** The operations of a turn's followers, wherever it runs. */
export type FollowedTurn = {
  /** Every event from the beginning, as they come. */
  events(): AsyncGenerator<AgentEvent>
  /** Answers its request for approval. */
  answer(id: string, yes: boolean): Promise<void>
  /** Resolves when it has stopped. */
  stop(): Promise<void>
}

type TurnHere = {
  ended: Promise<void>
  eventsFrom(place: number): AgentEvent[]
  hears(id: string, yes: boolean): boolean
  abort(): void
}

/** Until the turn ends, writes its events to the board, reads answers from it, and renews the lease. */
export async function shareTurn(board: TurnBoard, id: string, turn: TurnHere): Promise<void> {
  const ended = turn.ended.then(() => true)
  let told = 0
  let renewed = Date.now()
  for (let isOver = false; !isOver; ) {
    isOver = await Promise.race([ended, sleep(LOOK_MS, false)])
    try {
      const events = turn.eventsFrom(told)
      if (events.length > 0) await board.add(id, told, events)
      told += events.length
      if (isOver) break
      await board.listen(id, word => (word.id === STOP ? stopped(turn) : turn.hears(word.id, word.yes)))
      if (Date.now() - renewed < RENEW_MS) continue
      renewed = Date.now()
      // The lease expired: another server may have started its own turn in the session.
      if (!(await board.renew(id))) turn.abort()
    } catch {
      // The database is unavailable. The turn goes on; its events are written later, if the lease is still ours.
    }
  }
  await board.release(id).catch(() => {})
}

function stopped(turn: TurnHere): boolean {
  turn.abort()
  return true
}

export class RemoteTurn implements FollowedTurn {
  readonly #board: TurnBoard
  readonly #turn: string

  constructor(board: TurnBoard, turn: string) {
    this.#board = board
    this.#turn = turn
  }

  async *events(): AsyncGenerator<AgentEvent> {
    for (let next = 0; ; ) {
      const isHeld = await this.#board.isHeld(this.#turn)
      for (const event of await this.#board.events(this.#turn, next)) {
        next++
        yield event
        if (event.type === 'done') return
      }
      if (!isHeld) {
        yield { type: 'done', reason: 'failed', message: LOST, steps: 0, cost: 0 }
        return
      }
      await sleep(LOOK_MS)
    }
  }

  async answer(id: string, yes: boolean): Promise<void> {
    if (!(await this.#say(id, yes))) throw nothingWaits(id)
  }

  async stop(): Promise<void> {
    await this.#say(STOP, false)
    while (await this.#board.isHeld(this.#turn)) await sleep(LOOK_MS)
  }

  /** Whether the server that runs the turn received it. */
  async #say(id: string, yes: boolean): Promise<boolean> {
    const word = await this.#board.say(this.#turn, { id, yes })
    for (;;) {
      const isHeld = await this.#board.isHeld(this.#turn)
      const heard = await this.#board.heard(this.#turn, word)
      if (heard !== undefined) return heard
      if (!isHeld) return false
      await sleep(LOOK_MS)
    }
  }
}

const LOST = 'The server that ran this turn has stopped. The session is kept; continue the turn, or ask again.'

export function nothingWaits(id: string): PalimpsestError {
  return new PalimpsestError('NOT_FOUND', 'No question with this id is waiting for an answer here.', { id })
}
