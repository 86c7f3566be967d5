/** `show`: prints the view of a session as the model gets it, and what is hidden, by whom and why. */

import { textOf } from '../../model/leaves.ts'
import { amount, withCommas } from '../../model/text.ts'
import type { Edit, Message, Part } from '../../model/types.ts'
import type { Look } from '../../session/look.ts'
import type { View } from '../../session/session-view.ts'
import { contains, describeTarget } from '../../view/edits.ts'
import { type ExplainedEdit, type ExplainedSlot, explainView, tokensSaved } from '../../view/explain.ts'
import { defineCommand, numberOption, type Report } from '../terminal/command.ts'
import { beginning, oneLine, type Paint, printable } from '../terminal/output.ts'

export const show = defineCommand({
  name: 'show',
  summary: 'show the view and what edits hide, with author and reason',
  usage: 'SESSION',
  details:
    'Each message has the number of its entry. The eight digits above a long text or after a result are its id\n' +
    'for edit --discard, edit --distill and restore; --json has the ids of all texts.',
  examples: ['palimpsest show fix-login', 'palimpsest show fix-login --original --last 10'],
  options: {
    original: { type: 'boolean', about: 'show the original entries, without edits' },
    full: { type: 'boolean', about: 'show whole texts' },
    last: { type: 'string', value: 'N', about: 'only the last N entries' },
  },
  async run({ args, values, session }) {
    const opened = await session(args[0]!)
    const last = numberOption(values.last, '--last')
    const style = { full: values.full === true }
    return values.original ? reportOriginal(opened, { ...style, last }) : reportView(opened, { ...style, last })
  },
})

type Style = { full: boolean }

/** The report of a session's view; `sample` prints it too. */
export async function reportView(
  session: Look,
  { full, last }: Style & { last?: number | undefined },
): Promise<Report> {
  const view = await session.view({ plan: false })
  const all = explainView(session.fold)
  const { length } = session.fold.entries
  const slots = last === undefined ? all : all.filter(slot => slot.to >= length - last)
  const head = {
    session: session.id,
    policy: session.options.policy.name,
    entries: length,
    messages: view.messages.length,
    tokens: view.tokens,
    saved: tokensSaved(all),
  }
  return {
    json: { ...head, waiting: view.waiting, report: view.report, slots },
    *text(paint) {
      yield `${paint.bold(session.id)}  ${amount(length, 'entry', 'entries')}, policy ${head.policy}`
      yield `${amount(head.messages, 'message')} and ${amount(head.tokens, 'token')} in view; ${savedBy(view, head.saved)}`
      for (const slot of slots) yield* slotLines(slot, { full, paint })
      if (view.waiting.length > 0) yield `\n${paint.yellow(`waiting for the results of ${view.waiting.join(', ')}`)}`
      for (const { rule, message } of view.report) yield `\n${paint.red(`${rule}: ${message}`)}`
    },
  }
}

async function reportOriginal(session: Look, { full, last }: Style & { last: number | undefined }): Promise<Report> {
  const messages = await session.messages()
  const active = session.edits().flatMap(({ edit, active }) => (active ? [edit] : []))
  const entries = messages
    .map((message, entry) => ({ entry, message, edits: active.filter(({ target }) => contains(target, entry)) }))
    .slice(last === undefined ? 0 : -last || messages.length)
  return {
    json: { session: session.id, entries },
    *text(paint) {
      yield `${paint.bold(session.id)}  as it happened`
      for (const { entry, message, edits } of entries) {
        yield `\n${paint.cyan(`#${entry}`)} ${roleOf(message, paint)}`
        for (const part of message.parts) yield* partLines(part, undefined, { full, paint })
        for (const edit of edits) yield `  ${paint.yellow(`▲ ${describeEdit(edit)}, ${describeTarget(edit.target)}`)}`
      }
    },
  }
}

function savedBy({ edits }: View, saved: number): string {
  if (edits.length === 0) return 'no edits'
  return `${amount(edits.length, 'edit')} ${edits.length === 1 ? 'saves' : 'save'} ${amount(saved, 'token')}`
}

function* slotLines(slot: ExplainedSlot, style: Style & { paint: Paint }): Generator<string> {
  const { paint } = style
  const name = paint.cyan(slot.from === slot.to ? `#${slot.from}` : `#${slot.from}–#${slot.to}`)
  const pin = slot.pinned ? paint.green(' pinned') : ''
  if (slot.messages.length === 0) yield `\n${name}${pin} ${paint.yellow('hidden')}`
  for (const shown of slot.messages) {
    const size = paint.dim(amount(shown.tokens, 'token'))
    yield `\n${name} ${roleOf(shown.message, paint)}${pin}  ${size}`
    for (const [index, part] of shown.message.parts.entries()) yield* partLines(part, shown.ids[index], style)
  }
  for (const edit of slot.edits) if (edit.shows) yield `  ${paint.yellow(`▲ ${describeEdit(edit)}`)}`
  yield* insideLines(slot.edits, paint)
}

function* insideLines(edits: readonly ExplainedEdit[], paint: Paint): Generator<string> {
  const inside = edits.filter(edit => !edit.shows)
  if (inside.length > 0) yield `  ${paint.dim(`  inside: ${inside.map(({ id }) => id).join(', ')}`)}`
}

function* partLines(part: Part, id: string | undefined, { full, paint }: Style & { paint: Paint }): Generator<string> {
  const title = titleOf(part, paint)
  const worthNaming = part.type === 'tool-result' || textOf(part).length >= 200
  const name = id && worthNaming ? paint.dim(id) : ''
  const heading = [title, name].filter(text => text !== '').join('  ')
  if (heading) yield `  ${heading}`
  if (part.type === 'tool-call') return
  const text = textOf(part)
  if (text === '') return
  const lines = full ? printable(text).split('\n') : beginning(text, { lines: 6, width: 116 })
  for (const line of lines) yield `  ${line}`
}

function titleOf(part: Part, paint: Paint): string {
  switch (part.type) {
    case 'text':
      return ''
    case 'reasoning':
      return paint.dim('reasoning')
    case 'tool-call':
      return `${paint.bold(`→ ${printable(part.name)}`)} ${oneLine(JSON.stringify(part.input) ?? '', 100)}`
    case 'tool-result':
      return `${paint.bold(`← ${printable(part.name)}`)}${part.isError ? paint.red(' failed') : ''}`
    case 'image':
      return `image ${printable(part.mediaType)}`
    case 'raw':
      return `opaque block of ${printable(part.provider)}`
  }
}

function roleOf({ role }: Message, paint: Paint): string {
  return paint.bold(role)
}

function describeEdit({ id, by, why, saved }: Edit): string {
  const gain = saved >= 0 ? `saves ${amount(saved, 'token')}` : `adds ${withCommas(-saved)} tokens`
  return `${id} by ${by}: ${oneLine(why, 100)}, ${gain}`
}
