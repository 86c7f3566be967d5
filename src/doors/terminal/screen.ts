/**
 * The output of the chat. On a terminal a part at the bottom moves (the text being written, the running calls) and
 * everything above it stays; lines are laid out to the width. On a dumb terminal nothing moves. In a pipe nothing is
 * laid out either: text is written unchanged, so that a program can read it.
 */
import type { Io } from './command.ts'
import { wantsColour } from './output.ts'
import { clipLine, type Line, paintLine } from './spans.ts'

export type Screen = {
  /** Whether text is laid out for a reader; false in a pipe. */
  readonly laidOut: boolean
  readonly colour: boolean
  /** Whether the cursor may move. */
  readonly moves: boolean
  readonly width: number
  print(...lines: readonly Line[]): void
  write(text: string): void
  /** Shows these lines at the bottom until anything else is shown or printed; an empty list clears them. */
  live(lines: readonly Line[]): void
  /** Stops all output, because the terminal is gone. */
  mute(): void
}

type Output = { write(text: string): unknown; columns(): number; rows(): number }

const WIDTH = 80
/** Wider lines are hard to read. */
const WIDEST = 110
const HEIGHT = 24
/** In a pipe only very long lines are cut or wrapped. */
const PIPE_WIDTH = 10_000

export function createScreen({ stdout, env }: Pick<Io, 'stdout' | 'env'>): Screen {
  let isMute = false
  const isTerminal = stdout.isTTY === true
  const terminal: Io['stdout'] & { columns?: number; rows?: number } = stdout
  const out: Output = {
    write: text => isMute || stdout.write(text),
    columns: () => Math.max(20, terminal.columns || WIDTH),
    rows: () => terminal.rows || HEIGHT,
  }
  const moves = isTerminal && env['TERM'] !== 'dumb'
  const colour = wantsColour(env, isTerminal)
  const drawing = moves ? new Bottom(out, colour) : undefined
  const write = (text: string) => {
    if (text === '') return
    if (drawing) drawing.above(text)
    else out.write(text)
  }
  return {
    laidOut: isTerminal,
    colour,
    moves,
    get width() {
      return isTerminal ? Math.min(out.columns() - 1, WIDEST) : PIPE_WIDTH
    },
    print: (...lines) => write(lines.map(line => `${paintLine(line, colour)}\n`).join('')),
    write,
    live: lines => drawing?.show(lines),
    mute() {
      isMute = true
    },
  }
}

/** The lines at the bottom: redrawn in place, and erased before anything else is written. */
class Bottom {
  readonly #out: Output
  readonly #colour: boolean
  #drawn = 0

  constructor(out: Output, colour: boolean) {
    this.#out = out
    this.#colour = colour
  }

  above(text: string): void {
    this.#out.write(this.#erased() + text)
  }

  show(lines: readonly Line[]): void {
    if (lines.length > 0 || this.#drawn > 0) this.#out.write(this.#erased() + this.#painted(lines))
  }

  #erased(): string {
    if (this.#drawn === 0) return ''
    const up = this.#drawn > 1 ? `\u001b[${this.#drawn - 1}A` : ''
    this.#drawn = 0
    return `${up}\r\u001b[J`
  }

  #painted(all: readonly Line[]): string {
    const room = Math.max(3, this.#out.rows() - 2)
    const lines = all.slice(-room)
    this.#drawn = lines.length
    return lines.map(line => paintLine(clipLine(flat(line), this.#out.columns() - 1), this.#colour)).join('\r\n')
  }
}

/** A tab would be wider than its counted width. */
function flat(line: Line): Line {
  return line.map(({ text, looks }) => ({ text: text.replaceAll('\t', '    '), looks }))
}
