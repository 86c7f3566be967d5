/** Errors of writers that meet in one session. */
import { isPalimpsestError, PalimpsestError } from '../model/errors.ts'

export function contention(session: string): PalimpsestError {
  return new PalimpsestError('STORE_LOCKED', `Session ${session} is being written by others all the time. Try again.`, {
    session,
  })
}

export function redactedMeanwhile(session: string): PalimpsestError {
  const message = `Session ${session} was redacted meanwhile. Try again.`
  return new PalimpsestError('STORE_LOCKED', message, { session, redacted: true })
}

export function isRedactedMeanwhile(error: unknown): boolean {
  return isPalimpsestError(error) && error.data['redacted'] === true
}
