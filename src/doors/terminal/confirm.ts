/** A question that takes one key: `y` is yes, everything else is no. Throws without a terminal. */
import { PalimpsestError } from '../../model/errors.ts'
import type { Io } from './command.ts'
import type { Terminal } from './input.ts'

export async function confirm(io: Io, question: string): Promise<boolean> {
  return (await askKey(io, `${question} [y/n] `)) === 'y'
}

/** The key that was pressed, in lower case. */
export async function askKey({ stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>, question: string): Promise<string> {
  const terminal: Terminal = stdin
  if (!terminal.isTTY || !terminal.setRawMode) {
    throw new PalimpsestError(
      'INVALID_INPUT',
      `${question.trim()} This is not a terminal, so nobody can answer. Use --yes to go ahead.`,
    )
  }
  stderr.write(question)
  terminal.setRawMode(true)
  terminal.resume()
  const key = await new Promise<string>(resolve => terminal.once('data', data => resolve(String(data))))
  terminal.pause()
  terminal.setRawMode(false)
  stderr.write(/^[\x20-\x7e]/.test(key) ? `${key[0]}\n` : '\n')
  return key.slice(0, 1).toLowerCase()
}
