/**
 * `verify` and `head`: check that sessions are intact, and print heads to keep elsewhere, which reveal later changes.
 */

import type { Head, RemovedHead } from '../../ledger/head.ts'
import type { Tombstone } from '../../ledger/tombstones.ts'
import { ERROR_CODES, type ErrorCode, isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import type { Palimpsest } from '../../session/engine.ts'
import { allNames } from '../../session/every-session.ts'
import type { Verified } from '../../session/look.ts'
import { defineCommand, type Io, jsonIn, readInput } from '../terminal/command.ts'
import { printable, printableJson, timeOf } from '../terminal/output.ts'

type Checked = { session: string } & Verified
type Deleted = { session: string; deleted: { at: number; by: string; events: number } }
type Damaged = { session: string; error: { code: ErrorCode; message: string } }

export const verify = defineCommand({
  name: 'verify',
  summary: 'check hashes, contents and legality of one session or of all',
  usage: '[SESSION]',
  details:
    'Exits with 6 if a ledger is damaged, and with 4 if a view breaks a rule of its provider. Without --head it finds\n' +
    'inconsistencies; with it, also what was cut off, removed, or rewritten with consistent hashes.',
  examples: ['palimpsest verify', 'palimpsest verify fix-login --json', 'palimpsest verify --head heads.json'],
  options: {
    head: { type: 'string', value: 'FILE', about: 'compare with what palimpsest head printed earlier (- for stdin)' },
  },
  async run({ args: [only], values, open, openIfThere, io }) {
    const heads = values.head === undefined ? undefined : await readHeads(values.head, only, io)
    const pal = only === undefined ? await openIfThere() : await open()
    const there = only === undefined && pal ? await allNames(pal) : []
    const ids = new Set(only === undefined ? [...there, ...(heads?.sessions.keys() ?? [])] : [only])
    const results: (Checked | Deleted | Damaged)[] = []
    const removed = (await pal?.tombstones()) ?? []
    if (heads) checkRemoved(removed, heads.removed)
    for (const id of ids) results.push(await verifyOne({ pal, removed }, id, heads?.sessions.get(id)))
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
          if ('deleted' in result) {
            const { at, by, events } = result.deleted
            yield `deleted  ${printable(result.session)}  ${amount(events, 'event')}, ${timeOf(at)} by ${printable(by)}`
            continue
          }
          const { session, events, entries, edits, violations } = result
          const state = violations.length > 0 ? paint.red('illegal') : paint.green('whole  ')
          yield `${state}  ${printable(session)}  ${amount(events, 'event')}, ${amount(entries, 'entry', 'entries')}, ${amount(edits, 'edit')}`
          yield* redactionsIn(result)
          for (const { rule, message } of violations) yield `         ${rule}: ${printable(message)}`
        }
      },
      notes: results.length === 0 ? ['There are no sessions to verify.'] : [],
      exit: damaged ? ERROR_CODES.LEDGER_CORRUPT : illegal ? ERROR_CODES.VIEW_ILLEGAL : 0,
    }
  },
})

function redactionsIn({ redacted = [] }: Checked): string[] {
  return redacted.map(({ at, by, from, kinds }) => {
    const what = Object.keys(kinds).join(', ')
    return `         redacted from event ${from} on, ${timeOf(at)} by ${printable(by)}: ${what}`
  })
}

export const head = defineCommand({
  name: 'head',
  summary: 'print the heads of the hash chains, to keep elsewhere and verify against later',
  usage: '[SESSION]',
  details:
    'For one session or all of the home: the number of events, the time of the last one, and its hash, which covers all\n' +
    'before it. Keep the output where those who can write to the home cannot. It is not signed.',
  examples: ['palimpsest head > heads.json', 'palimpsest head fix-login'],
  options: {},
  async run({ args: [only], open }) {
    const pal = await open()
    const ids = only === undefined ? await allNames(pal) : [only]
    const heads = []
    for (const id of ids) heads.push(await pal.head(id))
    const removed = await pal.tombstones()
    const { headsFile } = await import('../../ledger/head.ts')
    const file = headsFile(heads, { sessions: removed.length, hash: removed.at(-1)?.hash ?? '' })
    return { json: file, text: () => `${printableJson(file)}\n` }
  },
})

type KeptHeads = { sessions: Map<string, Head>; removed: RemovedHead }

async function readHeads(path: string, only: string | undefined, io: Io): Promise<KeptHeads> {
  const { parseHeads } = await import('../../ledger/head.ts')
  const heads = parseHeads(jsonIn(await readInput(path, io), path), path)
  const sessions = new Map(heads.sessions.map(one => [one.session, one]))
  if (only === undefined || sessions.has(only)) return { sessions, removed: heads.removed }
  throw new PalimpsestError('INVALID_INPUT', `${path} has no head for the session ${only}.`, { session: only })
}

/** The tombstones must lead to the head that was kept. */
function checkRemoved(removed: readonly Tombstone[], kept: RemovedHead): void {
  if (kept.sessions === 0 || removed[kept.sessions - 1]?.hash === kept.hash) return
  const message = 'The record of removed sessions was cut short or rewritten. Restore it from a backup.'
  throw new PalimpsestError('LEDGER_CORRUPT', message, { removed: removed.length, kept: kept.sessions })
}

type There = { pal: Palimpsest | undefined; removed: readonly Tombstone[] }

/** A damaged session is reported, and the others are still checked. */
async function verifyOne({ pal, removed }: There, id: string, kept?: Head): Promise<Checked | Deleted | Damaged> {
  if (kept && !(await pal?.find(id))) {
    const tombstone = removed.findLast(({ session, events }) => session === id && events >= kept.events)
    if (tombstone) return { session: id, deleted: { at: tombstone.at, by: tombstone.by, events: tombstone.events } }
    const message = `The session was removed: its kept head has ${amount(kept.events, 'event')}.`
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
