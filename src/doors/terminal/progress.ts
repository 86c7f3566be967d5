/** A progress bar on stderr for long work: only on a terminal, on one line, and removed at the end. */
import { headOf } from '../../model/text.ts'
import type { Io } from './command.ts'

export type Progress = { step(label?: string): void; done(): void }

const WIDTH = 24
const EVERY = 80

export function startProgress(io: Io, total: number): Progress {
  const stderr: Io['stderr'] & { isTTY?: boolean } = io.stderr
  if (!stderr.isTTY || io.env['TERM'] === 'dumb') return { step: () => undefined, done: () => undefined }
  let made = 0
  let shownAt = 0
  return {
    step(label = '') {
      made++
      if (Date.now() - shownAt < EVERY && made < total) return
      shownAt = Date.now()
      const share = Math.min(1, made / Math.max(1, total))
      const bar = '█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '░')
      stderr.write(`\r\u001b[2K${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${headOf(label, 50)}`)
    },
    done: () => stderr.write('\r\u001b[2K'),
  }
}
