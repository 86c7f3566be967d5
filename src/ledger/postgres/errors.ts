/** Failures of a PostgreSQL server or of the network, under our error codes and with advice. */
import { type ErrorCode, isPalimpsestError, PalimpsestError } from '../../model/errors.ts'

/** A database by its address without the password (`place` may be shown), and the options in the address. */
export type Place = { place: string; address: string; prepares: boolean; connections?: number; timeoutMs?: number }

export function addressIn(url: string): Place {
  const parsed = URL.parse(url)
  if (!parsed || !['postgres:', 'postgresql:'].includes(parsed.protocol)) {
    throw new PalimpsestError(
      'CONFIG_INVALID',
      'The address of a PostgreSQL database looks like postgres://user:password@host:5432/palimpsest.',
    )
  }
  const { searchParams } = parsed
  const place = `${parsed.host || searchParams.get('host') || 'localhost'}${parsed.pathname}`
  const prepares = searchParams.get('prepared') !== 'off'
  const [connections, timeoutMs] = [wholeIn(searchParams, 'connections'), wholeIn(searchParams, 'timeout')]
  for (const own of ['prepared', 'connections', 'timeout']) searchParams.delete(own)
  return {
    place,
    address: parsed.href,
    prepares,
    ...(connections === undefined ? {} : { connections }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
}

function wholeIn(params: URLSearchParams, name: string): number | undefined {
  const given = params.get(name)
  if (given === null) return undefined
  if (/^[1-9]\d{0,8}$/.test(given)) return Number(given)
  throw new PalimpsestError('CONFIG_INVALID', `${name} in the address of the database must be a whole number.`)
}

const GONE = /^(?:ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/
/** Starting, shutting down, crashed, too many connections, connection lost, outcome unknown (CockroachDB). */
const AWAY = /^(?:57P0[1-5]|53300|08...|40003)$/
const SAID =
  /^(?:Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered|Client was closed)/

/** Whether the server was unavailable, so that a later try may succeed. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof Error) || isPalimpsestError(error)) return false
  if (error instanceof AggregateError) return error.errors.some(isAway)
  const code = codeOf(error)
  return GONE.test(code) || AWAY.test(code) || SAID.test(error.message)
}

/** Whether a transaction lost against another one; then it had no effect. */
export function isLostRace(error: unknown): boolean {
  return error instanceof Error && ['40001', '40P01'].includes(codeOf(error))
}

const KNOWN: Record<string, [ErrorCode, string]> = {
  '28000': ['CONFIG_INVALID', 'The database server refuses the user. Check PALIMPSEST_DATABASE_URL.'],
  '28P01': ['CONFIG_INVALID', 'The database server refuses the password. Check PALIMPSEST_DATABASE_URL.'],
  '3D000': ['CONFIG_INVALID', 'There is no such database. Create it (createdb), or check PALIMPSEST_DATABASE_URL.'],
  '22021': ['INVALID_INPUT', 'A text contains a NUL character, which the database cannot store.'],
  '25006': ['STORE_READONLY', 'The database cannot be written: it is a replica, or was made read-only.'],
  '42501': ['STORE_READONLY', 'The database user lacks permission. It needs the right to create and write tables.'],
  '53100': ['STORE_FULL', 'The disk of the database server is full. Free some space; nothing acknowledged was lost.'],
}

export function asStoreError(error: unknown, { place, wasSent }: { place: string; wasSent: boolean }): unknown {
  if (!(error instanceof Error) || isPalimpsestError(error)) return error
  const code = codeOf(error)
  const data = { postgres: code || error.message, place }
  if (isAway(error)) {
    const advice = wasSent
      ? 'A write may have happened: check before you try again.'
      : 'Check that it is running, and PALIMPSEST_DATABASE_URL. Nothing was written.'
    return new PalimpsestError('STORE_UNAVAILABLE', `The database at ${place} does not answer. ${advice}`, data, error)
  }
  // A bug of ours within a transaction.
  if (code === '') return error
  const [name, message] = KNOWN[code] ?? (['STORE_FAILED', error.message] as const)
  return new PalimpsestError(name, `${message} (${place})`, data, error)
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}
