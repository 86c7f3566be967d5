/**
 * The tool with which an agent edits its own context. `recall` (recall.ts) finds texts that are no longer in view.
 *
 * Nothing is lost: every change is an edit in the ledger, and the result says how to undo it. Text that the user has
 * hidden stays hidden: an agent can neither undo nor read it here. An error is a result that says what to do, and
 * then nothing was changed.
 */

import { z } from 'zod'
import { type ContextTarget, MIN_MATCH, operationName, toOperations } from '../asked/context-edits.ts'
import { PalimpsestError } from '../model/errors.ts'
import { imageStub } from '../model/leaves.ts'
import { amount, asDollars, boundedTo, headOf, onOneLine, withCommas } from '../model/text.ts'
import type { Edit, ImagePart } from '../model/types.ts'
import { type LiveContext, timelineOf } from '../session/live-context.ts'
import { momentOf, priceOf } from '../session/moment.ts'
import type { EditResult, Session } from '../session/session.ts'
import { contains, describeTarget } from '../view/edits.ts'
import type { Dropped } from '../view/figures.ts'
import type { EditRecord } from '../view/fold.ts'
import { withoutHiddenTexts } from '../view/hidden.ts'
import { isOwnTool } from '../view/shown-texts.ts'
import { checkNotHidden, quote, recallTool, type SessionToolContext } from './recall.ts'
import { defineTool, type Tool } from './tool.ts'

const MAX_LISTED = 30
const RESTORED_CHARS = 50_000
const TARGETS = 'a target is [id], [id, summary] or { start, end, replacement }'

const replaceOperation = z.object({
  start: z.string().describe('Exact text where the stretch begins; it goes too.'),
  end: z.string().describe('Exact text where it ends; it goes too.'),
  replacement: z.string().describe('What to show instead; may be short, or empty.'),
})

const target = z.union([z.array(z.string()).min(1).max(2), replaceOperation], { error: TARGETS })

const ACTIONS = [
  'discard',
  'distill',
  'replace',
  'price',
  'suggest',
  'list',
  'undo',
  'redo',
  'restore',
  'dropped',
  'put_back',
] as const

export const contextTool = defineTool({
  name: 'context',
  description: `Make room in your context: take out what you are done with, keep what you need. Nothing is lost: every change can be undone, and originals can be restored.

Actions and their targets
- discard: [[id], …] shows a one-line note in place of a text or result
- distill: [[id, summary], …] shows your summary in its place; write down every fact that you may still need
- replace: [{ start, end, replacement }, …] shows the replacement in place of one stretch of text, from start to end, both included
- price: [[id], …] changes nothing; says what discarding them saves with every call, what it costs once because of the cache, and how often such parts were quoted later
- suggest: no targets; finds stretches that could go at little loss (stack traces, package manager output, logs, large JSON) as ready targets for replace
- list: no targets; what is in view with ids and sizes, whether the cache is cold (then edits are free), and the edits in force
- undo, redo: [[edit], …]; undo without targets takes back your last call
- restore: [[id]] gives an original back, whole, in this tool's result
- dropped: no targets; what your client's own compaction took out of this conversation. put_back: [[id], …] shows it again
Ids are at the end of large results ([id 1a2b3c4d]); list has all. One call may mix discard, distill and replace targets. It does everything or nothing.

When to use replace
- one part of a text is noise and the rest is needed: logs, traces, install output, generated or repeated code, large JSON
- an analysis or a plan of yours that you have finished with
For a whole result use discard or distill. Leave alone what you are working on now.

Rules of replace
| what | rule |
|---|---|
| length | a match has at least ${MIN_MATCH} characters; a shorter one is refused |
| matching | literal, in the text as you see it: no patterns, letter case and white space count |
| several matches | nothing is changed; all of them are listed: choose a longer start |
| overlap | two targets must not touch the same text |
| replacement | any text, also "…" or nothing |

Good practice
1. Choose a start and an end that occur once: a whole line rather than a word.
2. Say in the replacement what was there: "[47 files reviewed, none uses the old API]" rather than "…".
3. Do it in one call with many targets: each call makes the model read everything behind the first change again.
4. Prefer the newest large results: older text costs more to change.`,
  input: z.object({
    action: z.enum(ACTIONS).describe('What to do.'),
    reason: z.string().optional().describe('Why, in a few words; kept with the edits for the user to read.'),
    targets: z.array(target).optional().describe(`What to do it to: ${TARGETS}. suggest, list and dropped take none.`),
    session: z
      .string()
      .optional()
      .describe(
        'The session of your conversation through the proxy, or the beginning of its name; this one unless given.',
      ),
  }),
  annotations: { destructive: false },
  run: async ({ action, targets = [], reason, session: name }, context: SessionToolContext) => {
    const session = name === undefined ? context.session : await liveOf(context).open(name)
    switch (action) {
      case 'discard':
      case 'distill':
      case 'replace':
        return describeEdits(
          await session.edit(
            toOperations({ action, targets: targets.map(toContextTarget) }),
            'agent',
            reason?.trim() || saidWith(session),
          ),
        )
      case 'price':
        return describePrice(session, idsIn(action, targets))
      case 'suggest':
        return describeSuggestions(session)
      case 'list':
        return describeContext(session)
      case 'restore':
        return restore(session, idsIn(action, targets))
      case 'dropped':
        return describeDropped(await liveOf(context).dropped(session))
      case 'put_back':
        return describePutBack(await liveOf(context).putBack(session, idsIn(action, targets)))
      default:
        return switchEdits(session, action === 'undo', targets)
    }
  },
})

/** The agent's words in the message with its call: the reason shown to the user if the agent gives none. */
function saidWith({ fold }: Session): string {
  const parts = fold.entries[fold.lastAssistant]?.message?.parts ?? []
  if (!parts.some(part => part.type === 'tool-call' && isOwnTool(part.name))) return ''
  return boundedTo(onOneLine(parts.flatMap(part => (part.type === 'text' ? part.text : [])).join(' ')), SAID_CHARS)
}

const SAID_CHARS = 200

function liveOf({ live }: SessionToolContext): LiveContext {
  if (live) return live
  throw new PalimpsestError(
    'INVALID_INPUT',
    'Only your own session can be reached here. Leave out session, dropped and put_back.',
  )
}

export const contextTools: readonly Tool<SessionToolContext>[] = [contextTool, recallTool]

/** For a system prompt. */
export const CONTEXT_GUIDE = `Looking after your context: nothing is lost, so make room early and in one call.
- Done with a large result: context, discard or distill, by the id at its end
- Noise inside a text that you need: context, replace; context, suggest finds such places
- Not in view any more: recall before you read or run it again; context, restore gives the original back`

type Given = z.output<typeof target>

function toContextTarget(given: Given): ContextTarget {
  if (!Array.isArray(given)) return given
  const [id = '', summary] = given
  return summary === undefined ? [id] : [id, summary]
}

function idsIn(action: string, targets: readonly Given[]): string[] {
  const ids = targets.flatMap(given => (Array.isArray(given) && given[0] ? [given[0]] : []))
  if (ids.length > 0 && ids.length === targets.length) return ids
  throw new PalimpsestError('INVALID_INPUT', `${action} takes ids: targets=[["<id>"], …]. list shows them.`, { action })
}

function describeEdits({ edits, replacements, tokensSaved }: EditResult): string {
  const lines = replacements.map(({ operation, entry, originalLength, newLength, tokensSaved: saved }, i) => {
    // The reason after the colon is the agent's own.
    const [did] = edits[i]!.why.split(':')
    const what = `${did} ${'start' in operation ? quote(operation.start) : operationName(operation)}`
    const size = `${withCommas(originalLength)} chars to ${withCommas(newLength)}`
    return `- ${edits[i]?.id}: ${what} (entry ${entry}), ${size}, ${tokens(saved)}`
  })
  const ids = JSON.stringify(edits.map(({ id }) => [id]))
  return [`Done: ${tokens(tokensSaved)}.`, ...lines, `Take it back with context(action="undo", targets=${ids}).`].join(
    '\n',
  )
}

async function describePrice(session: Session, ids: readonly string[]): Promise<string> {
  const timeline = await timelineOf(session)
  const price = priceOf(timeline, ids, session.options.clock())
  const { tokens: less, perCallUsd, rewritten, onceUsd, paysAfter, quotes } = price
  const once =
    rewritten === 0
      ? 'It costs nothing now: the cache is cold, or nothing after them is cached.'
      : `${withCommas(rewritten)} tokens after them must be written again, ${asDollars(onceUsd)} once; ${paysAfter === null ? 'this never pays off' : `this pays off after ${amount(paysAfter, 'call')}`}.`
  return [
    `Discarding ${amount(ids.length, 'part')} saves ${amount(less, 'token')} and ${asDollars(perCallUsd)} with every call.`,
    once,
    `Similar parts of this age were quoted ${quotes.toFixed(2)} times on average in recorded sessions.`,
    'Nothing was changed. To do it, call discard with the same targets.',
  ].join('\n')
}

function describeDropped({ before, parts }: Dropped): string {
  if (parts.length === 0) return `Nothing of ${before} is missing here.`
  const lines = parts.slice(0, MAX_LISTED).map(({ id, kind, tokens: size, preview }) => {
    return `- ${id}: ${kind}, ${amount(size, 'token')}: ${quote(preview)}`
  })
  return [`${amount(parts.length, 'part')} of ${before} are no longer here. put_back shows them again:`, ...lines].join(
    '\n',
  )
}

function describePutBack(edits: readonly Edit[]): string {
  const ids = JSON.stringify(edits.map(({ id }) => [id]))
  return `Put back, after the message that continues the conversation. Remove it again with context(action="undo", targets=${ids}).`
}

async function describeSuggestions(session: Session): Promise<string> {
  const found = await session.suggest()
  if (found.length === 0) return 'Nothing could be removed with little loss. list shows the largest parts in view.'
  const lines = found.map(({ operation, reason, entry, tokens: saves }) => {
    return `- ${reason} (entry ${entry}), ${tokens(saves)}: ${JSON.stringify(operation)}`
  })
  return ['Pass the ones that you agree with as targets of replace:', ...lines].join('\n')
}

async function describeContext(session: Session): Promise<string> {
  const { parts, isCold, nextUsd } = momentOf(await timelineOf(session), session.options.clock())
  const named = parts.filter(({ kind }) => kind === 'text' || kind === 'tool-result')
  const total = parts.reduce((sum, part) => sum + part.tokens, 0)
  const lines = named.slice(0, MAX_LISTED).map(({ id, tool, entry, tokens: size, preview }) => {
    return `- ${id}: ${tool ? `result of ${tool}` : 'text'} (entry ${entry}), ${amount(size, 'token')}: ${quote(preview)}`
  })
  const cold = isCold ? ' The cache is cold, so edits are free now.' : ''
  const more = named.length > MAX_LISTED ? [`[${withCommas(named.length - MAX_LISTED)} smaller ones]`] : []
  const edits = session.edits().flatMap(({ active, edit }) => (active && edit.mark !== 'id' ? [edit] : []))
  const shown = withoutHiddenTexts(session.fold, edits.slice(-MAX_LISTED)).map(edit => {
    return `- ${edit.id} by ${edit.by} (${quote(edit.why)}), ${describeTarget(edit.target)}, ${tokens(edit.saved)}`
  })
  const inForce =
    edits.length > 0 ? [`${amount(edits.length, 'edit')} in force, the newest last:`, ...shown] : ['No edits.']
  const head = `${amount(total, 'token')} in view, the next call ${asDollars(nextUsd)}.${cold} The largest parts:`
  return [head, ...lines, ...more, ...inForce].join('\n')
}

async function restore(session: Session, ids: readonly string[]): Promise<string> {
  const texts: string[] = []
  for (const id of ids) {
    const { entry, part, text, images } = await session.original(id)
    checkNotHidden(session, { id, entry, part })
    const note =
      text.length > RESTORED_CHARS
        ? `\n[The first ${withCommas(RESTORED_CHARS)} of ${withCommas(text.length)} characters. Read on: recall(text="${id}", from=${RESTORED_CHARS})]`
        : ''
    const pictures = images.length > 0 ? `\n${imageNote(session, { entry, part }, images)}` : ''
    texts.push(`[${id}, entry ${entry}]\n${headOf(text, RESTORED_CHARS)}${note}${pictures}`)
  }
  return texts.join('\n\n')
}

/** The tool's answer is text, so an image is shown again by undoing the edit that hid it. */
function imageNote(session: Session, { entry, part }: { entry: number; part: number }, images: ImagePart[]): string {
  const what = images.map(imageStub).join('\n')
  const edits = session.edits().filter(({ active, edit: { target, mark } }) => {
    const isHere = contains(target, entry) && (target.type !== 'part' || target.part === part)
    return active && isHere && target.type !== 'after' && mark !== 'id'
  })
  if (edits.length === 0) return `${what}\n[in view, in entry ${entry}]`
  const ids = JSON.stringify(edits.map(({ edit }) => [edit.id]))
  return `${what}\n[to see it again: context(action="undo", targets=${ids})]`
}

async function switchEdits(session: Session, undo: boolean, targets: readonly Given[]): Promise<string> {
  const word = undo ? 'undo' : 'redo'
  const ids = undo && targets.length === 0 ? lastOwnEdits(session) : idsIn(word, targets)
  const known = new Map(session.edits().map(({ edit }) => [edit.id, edit]))
  for (const id of ids) {
    if (known.get(id)?.by !== 'user') continue
    throw new PalimpsestError(
      'PINNED',
      `Edit ${id} was made by the user. Ask the user to ${word} it. Nothing was changed.`,
      { id },
    )
  }
  await (undo ? session.undo(ids, 'agent') : session.redo(ids, 'agent'))
  return undo ? `Undone: ${ids.join(', ')}. The previous text is in view again.` : `In force again: ${ids.join(', ')}.`
}

function lastOwnEdits(session: Session): string[] {
  const own = session.edits().filter(({ active, edit }) => active && edit.by === 'agent')
  const last = own.reduce<EditRecord | undefined>((a, b) => (a && a.group > b.group ? a : b), undefined)
  if (!last)
    throw new PalimpsestError('EDIT_NOT_FOUND', 'None of your edits is in force. list shows the edits of others.')
  return own.filter(({ group }) => group === last.group).map(({ edit }) => edit.id)
}

function tokens(saved: number): string {
  return saved < 0 ? `adds ${amount(-saved, 'token')}` : `${amount(saved, 'token')} saved`
}
