/**
 * Runs work that a caller's pattern or schema can make endless. V8 stops it only in a script with a time limit, which is
 * run in a context of its own. The work must have no effects, because it may be stopped anywhere.
 */
import { type Context, createContext, Script } from 'node:vm'
import { PalimpsestError } from '../model/errors.ts'
import { isRecord } from '../model/json.ts'

const runsWork = new Script('work()')
let context: Context | undefined

/** Throws INVALID_INPUT with `message` if the work takes longer. */
export function withinTime<T>(ms: number, message: string, work: () => T): T {
  context ??= createContext({})
  context['work'] = work
  try {
    return runsWork.runInContext(context, { timeout: ms })
  } catch (error) {
    if (!isRecord(error) || error['code'] !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    throw new PalimpsestError('INVALID_INPUT', message, {}, error)
  } finally {
    context['work'] = undefined
  }
}
