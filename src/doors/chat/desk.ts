/** The chat as slash commands may use it, and the type of a slash command. */
import type { Agent } from '../../agent/agent.ts'
import type { Home } from '../../agent/open.ts'
import type { Io } from '../terminal/command.ts'
import type { Screen } from '../terminal/screen.ts'
import type { Look } from '../terminal/spans.ts'
import type { Collapsed } from './collapsed.ts'

/** The session to open. An omitted field keeps its value, or has the configured one. */
export type Choice = { session?: string; persona?: string; model?: string }

export type Desk = {
  readonly io: Io
  readonly screen: Screen
  readonly collapsed: Collapsed
  readonly home: Home
  /** The agent of the session that the chat is in. */
  readonly agent: Agent
  /** Runs one turn: a request, or the unfinished rest of the last one. */
  turn(request?: string): Promise<void>
  /** Switches to another session, or reopens this one with another persona or model. */
  enter(choice: Choice): Promise<void>
  confirm(question: string): Promise<boolean>
  /** One of these words; undefined for none of them. */
  choose(question: string, words: readonly string[]): Promise<string | undefined>
  say(text: string, ...looks: Look[]): void
  /** Ends the chat after this command. */
  leave(): void
}

export type Slash = {
  name: string
  /** The arguments, for the help. */
  usage: string
  about: string
  run(desk: Desk, args: readonly string[]): Promise<void>
}
