/** The commands that change the view or undo a change: edits, edit, undo, redo, pin, unpin, fork. */

import { type ContextTarget, type EditOperation, toOperations } from '../../asked/context-edits.ts'
import type { Suggestion } from '../../asked/suggest.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { isRecord } from '../../model/json.ts'
import { amount, withCommas } from '../../model/text.ts'
import type { EditResult, Session } from '../../session/session.ts'
import { describeTarget } from '../../view/edits.ts'
import {
  type Context,
  defineCommand,
  jsonIn,
  numberOption,
  type Report,
  readInput,
  wholeNumber,
} from '../terminal/command.ts'
import { oneLine, type Paint, printable, table } from '../terminal/output.ts'

export const edits = defineCommand({
  name: 'edits',
  summary: 'list all edits, including undone ones',
  usage: 'SESSION',
  examples: ['palimpsest edits fix-login', 'palimpsest edits fix-login --json'],
  options: {},
  async run({ args, session }) {
    const records = (await session(args[0]!)).edits()
    const list = records.map(({ edit, active, seq }) => ({ ...edit, active, seq }))
    return {
      json: { session: args[0], edits: list },
      *text(paint) {
        const rows = list.map(({ id, active, by, saved, target, why }) => {
          return [id, active ? 'in force' : 'undone', by, withCommas(saved), describeTarget(target), oneLine(why, 80)]
        })
        yield* table(['*EDIT', 'STATE', 'BY', '>SAVED', 'WHERE', 'WHY'], rows, paint)
      },
      notes: list.length === 0 ? ['This session has no edits.'] : [],
    }
  },
})

const EDIT_OPTIONS = {
  discard: { type: 'string', multiple: true, value: 'ID', about: 'replace this text or result with a note' },
  distill: { type: 'string', multiple: true, value: 'ID=SUMMARY', about: 'replace it with a summary' },
  start: { type: 'string', value: 'TEXT', about: 'replace from this text (literal, exactly once in view)' },
  end: { type: 'string', value: 'TEXT', about: 'up to and including this text' },
  replacement: { type: 'string', value: 'TEXT', about: 'the text to show instead (nothing)' },
  file: { type: 'string', value: 'FILE', about: 'read targets as JSON from a file or stdin (-)' },
  suggest: { type: 'boolean', about: 'only list what could be removed with little loss' },
} as const

export const edit = defineCommand({
  name: 'edit',
  summary: 'discard, distill or replace parts of the view',
  usage: 'SESSION',
  details:
    'ID is the id of a text or result, as printed by show. If one target fails, nothing is changed. The JSON is a list of targets,\n' +
    'or { action, targets }; a target is [id], [id, summary] or { start, end, replacement }.',
  examples: [
    'palimpsest edit fix-login --suggest',
    'palimpsest edit fix-login --discard 5f0c2a91 --distill "77be01c4=All 214 tests pass."',
    'palimpsest edit fix-login --start "npm warn deprecated" --end "found 0 vulnerabilities" --replacement "[installed]"',
    'palimpsest edit fix-login --suggest --json | jq "[.suggestions[0].operation]" | palimpsest edit fix-login --file -',
  ],
  options: EDIT_OPTIONS,
  async run(context) {
    const session = await context.session(context.args[0]!)
    if (context.values.suggest) return reportSuggestions(session)
    const result = await session.edit(await operationsOf(context), 'user')
    return reportEdit(session, result)
  },
})

async function operationsOf({ values, io }: Context<typeof EDIT_OPTIONS>): Promise<EditOperation[]> {
  const operations: EditOperation[] = []
  for (const id of values.discard ?? []) operations.push({ discard: id })
  for (const text of values.distill ?? []) operations.push(distillOf(text))
  if (values.start !== undefined || values.end !== undefined) {
    const { start = '', end = '', replacement = '' } = values
    operations.push({ start, end, replacement })
  }
  if (values.file !== undefined) {
    const targets = targetsOf(jsonIn(await readInput(values.file, io), values.file))
    operations.push(...toOperations({ action: 'replace', targets }))
  }
  if (operations.length > 0) return operations
  throw new PalimpsestError(
    'INVALID_INPUT',
    'There is nothing to edit. Name a target with --discard, --distill, --start and --end, or --file.',
  )
}

function distillOf(text: string): EditOperation {
  const at = text.indexOf('=')
  if (at > 0) return { distill: text.slice(0, at), to: text.slice(at + 1) }
  throw new PalimpsestError('INVALID_INPUT', '--distill needs an id, "=" and a summary.', { distill: text })
}

function targetsOf(value: unknown): ContextTarget[] {
  const list = isRecord(value) && 'targets' in value ? value['targets'] : value
  if (Array.isArray(list) && list.every(isTarget)) return list
  throw new PalimpsestError(
    'INVALID_INPUT',
    'The JSON must be a list of targets (or { action, targets }): [id], [id, summary] or { start, end, replacement }.',
  )
}

function isTarget(value: unknown): value is ContextTarget {
  if (Array.isArray(value))
    return value.length >= 1 && value.length <= 2 && value.every(item => typeof item === 'string')
  return isRecord(value) && ['start', 'end', 'replacement'].every(key => typeof value[key] === 'string')
}

function reportEdit({ id }: Session, result: EditResult): Report {
  return {
    json: { session: id, ...result },
    *text(paint) {
      for (const [index, { entry, originalLength, newLength, tokensSaved }] of result.replacements.entries()) {
        const size = `${withCommas(originalLength)} → ${amount(newLength, 'character')}`
        yield `${paint.bold(result.edits[index]!.id)}  #${entry}  ${size}, ${amount(tokensSaved, 'token')} saved`
      }
      yield `${amount(result.tokensSaved, 'token')} saved. Undo: palimpsest undo ${id} ${result.edits.map(edit => edit.id).join(' ')}`
    },
  }
}

async function reportSuggestions(session: Session): Promise<Report> {
  const suggestions = await session.suggest()
  return {
    json: { session: session.id, suggestions },
    *text(paint) {
      for (const suggestion of suggestions) yield* suggestionLines(suggestion, paint)
    },
    notes: suggestions.length === 0 ? ['Nothing could be removed with little loss.'] : [],
  }
}

function* suggestionLines({ operation, reason, entry, tokens }: Suggestion, paint: Paint): Generator<string> {
  yield `${paint.cyan(`#${entry}`)} ${paint.bold(reason)}, would save ${amount(tokens, 'token')}`
  yield `  --start       ${JSON.stringify(operation.start)}`
  yield `  --end         ${JSON.stringify(operation.end)}`
  yield `  --replacement ${JSON.stringify(operation.replacement)}`
}

export const undo = defineCommand({
  name: 'undo',
  summary: 'undo edits, in any order',
  usage: 'SESSION [EDIT...]',
  details: 'Several edits are undone one after the other; the command stops at the first that cannot be undone.',
  examples: ['palimpsest undo fix-login e3', 'palimpsest undo fix-login --last'],
  options: { last: { type: 'boolean', about: 'the newest edit in force' } },
  run: ({ args, values, session }) => switchEdits(args, { session, on: false, last: values.last === true }),
})

export const redo = defineCommand({
  name: 'redo',
  summary: 'redo undone edits',
  usage: 'SESSION [EDIT...]',
  examples: ['palimpsest redo fix-login e3', 'palimpsest redo fix-login --last'],
  options: { last: { type: 'boolean', about: 'the newest undone edit' } },
  run: ({ args, values, session }) => switchEdits(args, { session, on: true, last: values.last === true }),
})

type Switch = Pick<Context, 'session'> & { on: boolean; last: boolean }

async function switchEdits([name, ...given]: string[], { session, on, last }: Switch): Promise<Report> {
  const opened = await session(name!)
  const ids = last ? [lastEdit(opened, !on), ...given] : given
  if (ids.length === 0)
    throw new PalimpsestError('INVALID_INPUT', 'Name an edit (palimpsest edits lists them), or --last.')
  for (const id of ids) await (on ? opened.redo(id) : opened.undo(id))
  const { tokens } = await opened.view({ plan: false })
  return {
    json: { session: name, [on ? 'redone' : 'undone']: ids, tokens },
    text: () => `${on ? 'In force again' : 'Undone'}: ${ids.join(', ')}. ${amount(tokens, 'token')} in view.\n`,
  }
}

function lastEdit(session: Session, active: boolean): string {
  const found = session.edits().findLast(record => record.active === active)
  if (found) return found.edit.id
  throw new PalimpsestError('EDIT_NOT_FOUND', `There is no ${active ? 'edit in force' : 'undone edit'}.`)
}

const PIN_OPTIONS = {
  part: { type: 'string', value: 'N', about: 'only this part of the entry, counted from 0' },
} as const

export const pin = defineCommand({
  name: 'pin',
  summary: 'protect an entry from edits by policies and by the agent',
  usage: 'SESSION ENTRY',
  examples: ['palimpsest pin fix-login 4'],
  options: PIN_OPTIONS,
  run: context => switchPin(context, true),
})

export const unpin = defineCommand({
  name: 'unpin',
  summary: 'allow edits of an entry again',
  usage: 'SESSION ENTRY',
  examples: ['palimpsest unpin fix-login 4'],
  options: PIN_OPTIONS,
  run: context => switchPin(context, false),
})

async function switchPin({ args, values, session }: Context<typeof PIN_OPTIONS>, on: boolean): Promise<Report> {
  const entry = wholeNumber(args[1]!, 'ENTRY')
  const part = numberOption(values.part, '--part')
  await (await session(args[0]!)).pin(entry, { on, part })
  const place = `#${entry}${part === undefined ? '' : `, part ${part}`}`
  return {
    json: { session: args[0], entry, part: part ?? null, pinned: on },
    text: () => `${place} ${on ? 'is pinned: only you can edit it' : 'can be edited again'}.\n`,
  }
}

export const fork = defineCommand({
  name: 'fork',
  summary: 'start a new session with everything up to an entry',
  usage: 'SESSION',
  examples: ['palimpsest fork fix-login', 'palimpsest fork fix-login --at 12 --as fix-login-again'],
  options: {
    at: { type: 'string', value: 'ENTRY', about: 'the last entry to share (the newest)' },
    as: { type: 'string', value: 'NAME', about: 'the name of the new session' },
  },
  async run({ args, values, session }) {
    const parent = await session(args[0]!)
    const made = await parent.fork(numberOption(values.at, '--at'), values.as)
    const entries = made.fold.entries.length
    return {
      json: { session: made.id, parent: parent.id, entries },
      text: () => `${printable(made.id)}: ${amount(entries, 'entry', 'entries')} of ${printable(parent.id)}.\n`,
    }
  },
})
