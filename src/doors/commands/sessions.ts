/** `sessions` and `verify`: what there is in a home, and whether it is whole. */

import { ERROR_CODES, type ErrorCode, isPalimpsestError } from '../../model/errors.ts'
import type { Palimpsest, SessionInfo } from '../../session/engine.ts'
import type { Violation } from '../../view/legality.ts'
import { defineCommand, numberOption } from '../terminal/command.ts'
import { amount, grouped, printable, table, timeOf } from '../terminal/output.ts'

export const sessions = defineCommand({
  name: 'sessions',
  summary: 'list the sessions, the last used first',
  usage: '',
  examples: ['palimpsest sessions', 'palimpsest sessions --contains login --limit 5'],
  options: {
    limit: { type: 'string', value: 'N', about: 'how many to list (100)' },
    contains: { type: 'string', value: 'TEXT', about: 'only those with this text in their name, policy or model' },
    after: { type: 'string', value: 'SESSION', about: 'only those that follow this one in the list' },
  },
  async run({ values, openIfThere, home }) {
    const pal = await openIfThere()
    const limit = numberOption(values.limit, '--limit')
    const { contains, after } = values
    const list = (await pal?.sessions({ ...defined({ limit, contains, after }) })) ?? []
    return {
      json: { sessions: list },
      *text(paint) {
        if (list.length === 0) return
        const columns = [
          { name: 'SESSION', paint: paint.bold },
          { name: 'LAST USED' },
          { name: 'EVENTS', right: true },
          { name: 'POLICY' },
          { name: 'MODEL' },
          { name: 'FORKED FROM' },
        ]
        yield* table(columns, list.map(toCells), paint)
      },
      notes: list.length === 0 ? [`There are no sessions in ${home}.`] : [],
    }
  },
})

type Checked = { session: string; events: number; entries: number; edits: number; violations: Violation[] }
type Damaged = { session: string; error: { code: ErrorCode; message: string } }

export const verify = defineCommand({
  name: 'verify',
  summary: 'check hashes, contents and legality, of one session or of all',
  usage: '[SESSION]',
  details: 'Ends with 6 if a ledger is damaged, and with 4 if a view breaks a rule of its provider.',
  examples: ['palimpsest verify', 'palimpsest verify fix-login --json'],
  options: {},
  async run({ args, open, openIfThere }) {
    const pal = args[0] === undefined ? await openIfThere() : await open()
    const ids = args[0] === undefined ? await allSessions(pal) : [args[0]]
    const results: (Checked | Damaged)[] = []
    for (const id of ids) results.push(await verifyOne(pal!, id))
    const damaged = results.some(result => 'error' in result)
    const illegal = results.some(result => 'violations' in result && result.violations.length > 0)
    return {
      json: { ok: !damaged && !illegal, sessions: results },
      *text(paint) {
        for (const result of results) {
          if ('error' in result) {
            yield `${paint.red('damaged')}  ${result.session}  ${result.error.message} (${result.error.code})`
            continue
          }
          const { session, events, entries, edits, violations } = result
          const state = violations.length > 0 ? paint.red('illegal') : paint.green('whole  ')
          yield `${state}  ${printable(session)}  ${amount(events, 'event')}, ${grouped(entries)} entries, ${amount(edits, 'edit')}`
          for (const { rule, message } of violations) yield `         ${rule}: ${printable(message)}`
        }
      },
      notes: results.length === 0 ? ['There are no sessions to verify.'] : [],
      exit: damaged ? ERROR_CODES.LEDGER_CORRUPT : illegal ? ERROR_CODES.VIEW_ILLEGAL : 0,
    }
  },
})

/** A damaged session is a finding, not the end: the others are checked too. */
async function verifyOne(pal: Palimpsest, id: string): Promise<Checked | Damaged> {
  try {
    const session = await pal.session(id, { mustExist: true })
    return { session: id, ...(await session.verify()) }
  } catch (error) {
    if (!isPalimpsestError(error)) throw error
    if (ERROR_CODES[error.code] !== ERROR_CODES.LEDGER_CORRUPT) throw error
    return { session: id, error: { code: error.code, message: error.message } }
  }
}

async function allSessions(pal: Palimpsest | undefined): Promise<string[]> {
  const ids: string[] = []
  for (let page = await pal?.sessions(); page && page.length > 0; ) {
    ids.push(...page.map(({ id }) => id))
    page = await pal?.sessions({ after: page.at(-1)!.id })
  }
  return ids
}

function toCells({ id, updatedAt, length, policy, model, parent }: SessionInfo): string[] {
  return [printable(id), timeOf(updatedAt), grouped(length), policy, printable(model), printable(parent?.id ?? '')]
}

function defined<T extends Record<string, unknown>>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
}
