/** `verify` and `head`: whether sessions are whole, and what to keep elsewhere so that nobody can change them unseen. */

import type { Head } from '../../ledger/head.ts'
import { ERROR_CODES, type ErrorCode, isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { amount, withCommas } from '../../model/text.ts'
import type { Palimpsest } from '../../session/engine.ts'
import type { Violation } from '../../view/legality.ts'
import { defineCommand, type Io, jsonIn, readInput } from '../terminal/command.ts'
import { printable, printableJson } from '../terminal/output.ts'
import { allNames } from './sessions.ts'

type Checked = { session: string; events: number; entries: number; edits: number; violations: Violation[] }
type Damaged = { session: string; error: { code: ErrorCode; message: string } }

export const verify = defineCommand({
  name: 'verify',
  summary: 'check hashes, contents and legality, of one session or of all',
  usage: '[SESSION]',
  details:
    'Ends with 6 if a ledger is damaged, and with 4 if a view breaks a rule of its provider. Without --head it finds what\n' +
    'does not fit; with it also what was cut off, removed, or written anew with hashes that fit.',
  examples: ['palimpsest verify', 'palimpsest verify fix-login --json', 'palimpsest verify --head heads.json'],
  options: {
    head: { type: 'string', value: 'FILE', about: 'compare with what palimpsest head printed earlier (- for stdin)' },
  },
  async run({ args: [only], values, open, openIfThere, io }) {
    const heads = values.head === undefined ? undefined : await readHeads(values.head, only, io)
    const pal = only === undefined ? await openIfThere() : await open()
    const there = only === undefined && pal ? await allNames(pal) : []
    const ids = new Set(only === undefined ? [...there, ...(heads?.keys() ?? [])] : [only])
    const results: (Checked | Damaged)[] = []
    for (const id of ids) results.push(await verifyOne(pal, id, heads?.get(id)))
    const damaged = results.some(result => 'error' in result)
    const illegal = results.some(result => 'violations' in result && result.violations.length > 0)
    return {
      json: { ok: !damaged && !illegal, sessions: results },
      *text(paint) {
        for (const result of results) {
          if ('error' in result) {
            const { session, error } = result
            yield `${paint.red('damaged')}  ${printable(session)}  ${printable(error.message)} (${error.code})`
            continue
          }
          const { session, events, entries, edits, violations } = result
          const state = violations.length > 0 ? paint.red('illegal') : paint.green('whole  ')
          yield `${state}  ${printable(session)}  ${amount(events, 'event')}, ${withCommas(entries)} entries, ${amount(edits, 'edit')}`
          for (const { rule, message } of violations) yield `         ${rule}: ${printable(message)}`
        }
      },
      notes: results.length === 0 ? ['There are no sessions to verify.'] : [],
      exit: damaged ? ERROR_CODES.LEDGER_CORRUPT : illegal ? ERROR_CODES.VIEW_ILLEGAL : 0,
    }
  },
})

export const head = defineCommand({
  name: 'head',
  summary: 'print where the hash chains end, to keep outside and verify against later',
  usage: '[SESSION]',
  details:
    'For one session, or for all of the home: how many events it has, the hash of the last one, which covers all before\n' +
    'it, and its time. Keep it where whoever can write the home cannot write. It is not signed.',
  examples: ['palimpsest head > heads.json', 'palimpsest head fix-login'],
  options: {},
  async run({ args: [only], open }) {
    const pal = await open()
    const ids = only === undefined ? await allNames(pal) : [only]
    const heads = []
    for (const id of ids) heads.push(await pal.head(id))
    const { headsFile } = await import('../../ledger/head.ts')
    const file = headsFile(heads)
    return { json: file, text: () => `${printableJson(file)}\n` }
  },
})

async function readHeads(path: string, only: string | undefined, io: Io): Promise<Map<string, Head>> {
  const { parseHeads } = await import('../../ledger/head.ts')
  const heads = parseHeads(jsonIn(await readInput(path, io), path), path)
  const bySession = new Map(heads.map(one => [one.session, one]))
  if (only === undefined || bySession.has(only)) return bySession
  throw new PalimpsestError('INVALID_INPUT', `${path} has no head of the session ${only}.`, { session: only })
}

/** A damaged session is a finding, not the end: the others are checked too. */
async function verifyOne(pal: Palimpsest | undefined, id: string, kept?: Head): Promise<Checked | Damaged> {
  if (kept && !(await pal?.find(id))) {
    const message = `The session was removed: the head that was kept has ${amount(kept.events, 'event')} of it.`
    return { session: id, error: { code: 'LEDGER_CORRUPT', message } }
  }
  try {
    const session = await pal!.session(id, { mustExist: true })
    return { session: id, ...(await session.verify(kept)) }
  } catch (error) {
    if (!isPalimpsestError(error)) throw error
    if (ERROR_CODES[error.code] !== ERROR_CODES.LEDGER_CORRUPT) throw error
    return { session: id, error: { code: error.code, message: error.message } }
  }
}
