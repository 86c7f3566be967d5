/** Errors for concurrent writers of one session. */
import { isPalimpsestError, PalimpsestError } from '../model/errors.ts'

export function contention(session: string): PalimpsestError {
  return new PalimpsestError('STORE_LOCKED', `Other writers keep changing session ${session}. Try again.`, { session })
}

export function redactedMeanwhile(session: string): PalimpsestError {
  const message = `Session ${session} was redacted in the meantime. Try again.`
  return new PalimpsestError('STORE_LOCKED', message, { session, redacted: true })
}

/** Throws if others have added entries since the caller read the session. The caller retries. */
export function checkGrown(session: string, known: number | undefined, entries: number): void {
  if (known === undefined || known === entries) return
  const message = `Session ${session} has grown in the meantime. Try again.`
  throw new PalimpsestError('STORE_LOCKED', message, { session, grown: true })
}

/** Whether the work must be repeated because the session has changed since the caller read it. */
export function isChangedMeanwhile(error: unknown): boolean {
  return isPalimpsestError(error) && (error.data['redacted'] === true || error.data['grown'] === true)
}
