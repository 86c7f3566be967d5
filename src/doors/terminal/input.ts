/**
 * The source of requests: a terminal with a cursor (key-input.ts), or the lines of a pipe or a dumb terminal
 * (line-input.ts). This file has what the two share.
 *
 * A request may have several lines: a line that ends with a backslash continues, Alt-Enter begins a new one, and a
 * paste stays together. Text typed before a question never answers it.
 */
import { trimEndOf } from '../../model/text.ts'
import type { Io } from './command.ts'
import type { History } from './history.ts'

export type Input = {
  /** The next request, whole. Undefined when the input has ended, or the user leaves. */
  read(): Promise<string | undefined>
  /**
   * One of these words. On a terminal its first letter is enough, without Enter; in a pipe it is a line. Undefined if
   * there can be no answer, which means no. A line that is no answer is kept as the next request.
   */
  choose(words: readonly string[], options?: ChooseOptions): Promise<string | undefined>
  /** The text that was typed ahead. */
  readonly typed: string
  /** Called for Ctrl-C while nothing is being asked. */
  interrupted: () => void
  close(): void
}

export type ChooseOptions = {
  signal?: AbortSignal | undefined
  /** Called when `typed` has changed. */
  changed?: () => void
}

export type InputOptions = {
  io: Io
  history: History
  complete: (line: string) => string[]
  /** Prints a text between two prompts. */
  say: (text: string) => void
}

export type Terminal = NodeJS.ReadableStream & { isTTY?: boolean; setRawMode?: (on: boolean) => unknown }

export const PROMPT = '› '
export const MORE = '… '
export const LEAVE = 'Press Ctrl-C again, or Ctrl-D, to leave.'

/** Joins the lines of a request: returns it when it is complete, and undefined while it continues. */
export class Request {
  readonly #lines: string[] = []

  get begun(): boolean {
    return this.#lines.length > 0
  }

  add(line: string, goesOn = false): string | undefined {
    const escaped = !goesOn && continues(line)
    this.#lines.push(escaped ? line.slice(0, -1) : line)
    return goesOn || escaped ? undefined : this.#lines.join('\n')
  }

  clear(): void {
    this.#lines.length = 0
  }

  /** The text so far, when no more can come. */
  get rest(): string | undefined {
    return this.begun ? this.#lines.join('\n') : undefined
  }
}

export function answerIn(line: string, words: readonly string[]): string | undefined {
  const said = line.trim().toLowerCase()
  return words.find(word => said === word || said === word[0])
}

/** A line that ends with an odd number of backslashes continues in the next. */
function continues(line: string): boolean {
  return (line.length - trimEndOf(line, '\\').length) % 2 === 1
}
