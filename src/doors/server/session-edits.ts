/** Routes: everything that changes what the model is shown, and undoes it. */
import { z } from 'zod'
import { type ContextRequest as EngineRequest, toOperations } from '../../asked/context-edits.ts'
import { PalimpsestError } from '../../model/errors.ts'
import type { Author, Replacement } from '../../model/types.ts'
import type { Session } from '../../session/session.ts'
import { checkNotHidden, hiddenError } from '../../tools/recall.ts'
import { entriesOf } from '../../view/edits.ts'
import type { Fold } from '../../view/fold.ts'
import { hiddenUpTo } from '../../view/hidden.ts'
import type { Caller } from './gate.ts'
import { forbidden } from './refusals.ts'
import { defineRoute, EVERYBODY, Index, nameSchema, PEOPLE, type Route } from './route.ts'
import { ContextRequest, Edit, EditState, MessageInput, SessionOut, Target } from './schemas.ts'
import { editStates, toldTo } from './sessions.ts'

const EditParam = { edit: z.string().regex(/^e[1-9]\d{0,8}$/) }
const MAX_WHY = 2000
const MAX_TEXT = 200_000

const list = defineRoute({
  method: 'get',
  path: '/sessions/{session}/edits',
  summary: 'All edits, including undone ones',
  roles: EVERYBODY,
  answer: z.object({ edits: z.array(EditState) }),
  async run({ params, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    return { edits: toldTo(caller, session.fold, editStates(session)) }
  },
})

const edit = defineRoute({
  method: 'post',
  path: '/sessions/{session}/edits',
  summary: 'Discard, distill or replace parts of the view; if one target fails, nothing is changed',
  description:
    'A target is [id], [id, summary] or { start, end, replacement }; texts are literal, as the model sees them.',
  roles: EVERYBODY,
  body: ContextRequest,
  answer: z.object({
    edits: z.array(Edit),
    replacements: z.array(
      z.object({
        operation: z.unknown(),
        entry: z.number(),
        originalLength: z.number(),
        newLength: z.number(),
        tokensSaved: z.number(),
      }),
    ),
    tokensSaved: z.number(),
  }),
  status: 201,
  refusals: [409],
  async run({ params, body, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    return session.edit(toOperations(body as EngineRequest), authorOf(caller))
  },
})

const replacement = z.union([
  z.string().max(MAX_TEXT),
  z.null(),
  z.strictObject({ messages: z.array(MessageInput).max(100) }),
  z.strictObject({ input: z.unknown() }),
])

const apply = defineRoute({
  method: 'post',
  path: '/sessions/{session}/edits/apply',
  summary: 'Apply edits addressed to originals; if one fails, nothing is changed',
  roles: PEOPLE,
  body: z.strictObject({
    edits: z
      .array(z.strictObject({ target: Target, replacement, why: z.string().min(1).max(MAX_WHY) }))
      .min(1)
      .max(1000),
  }),
  answer: z.object({ edits: z.array(Edit) }),
  status: 201,
  refusals: [409],
  async run({ params, body, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    for (const { target } of body.edits) checkEntries(session.fold, entriesOf(target))
    const edits = body.edits.map(one => ({ ...one, replacement: one.replacement as Replacement }))
    return { edits: await session.apply(edits, authorOf(caller)) }
  },
})

const undo = switchRoute('undo', 'Undo an edit', "An agent cannot take back a user's edit.")
const redo = switchRoute('redo', 'Redo an undone edit', "An agent cannot redo a user's edit.")

function switchRoute(action: 'undo' | 'redo', summary: string, description: string) {
  return defineRoute({
    method: 'post',
    path: `/sessions/{session}/edits/{edit}/${action}`,
    summary,
    description,
    roles: EVERYBODY,
    params: EditParam,
    answer: EditState,
    refusals: [409],
    async run({ params, caller, doors }) {
      const session = await doors.desk.open(caller, params.session)
      checkAuthor(session, params.edit, caller)
      await session[action](params.edit, authorOf(caller))
      return toldTo(caller, session.fold, [stateOf(session, params.edit)])[0]!
    },
  })
}

const pin = defineRoute({
  method: 'post',
  path: '/sessions/{session}/pin',
  summary: 'Protect an entry, or one part of it, from edits by policies and agents; `on: false` unpins it',
  roles: PEOPLE,
  body: z.strictObject({
    entry: Index,
    part: z.int().min(0).max(1000).optional(),
    on: z.boolean().optional(),
  }),
  answer: z.object({ entry: z.number(), part: z.number().optional(), on: z.boolean() }),
  async run({ params, body, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    const { entry, part, on = true } = body
    await session.pin(entry, { part, on, by: 'user' })
    return { entry, part, on }
  },
})

const restore = defineRoute({
  method: 'post',
  path: '/sessions/{session}/restore',
  summary: 'Show an original again at the end of the view, without a cache miss',
  description: 'While a tool call waits for its result nothing can be added: then the text alone is answered.',
  roles: EVERYBODY,
  body: z.strictObject({ id: nameSchema(100).describe('The id of an edit (e3) or of a part.') }),
  answer: z.object({ entry: z.number(), part: z.number(), text: z.string(), edit: Edit.optional() }),
  refusals: [409],
  async run({ params, body, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    if (caller.role === 'agent') checkNotHidden(session, { id: body.id, ...(await session.original(body.id)) })
    const { images: _, ...restored } = await session.restore(body.id)
    return restored
  },
})

const fork = defineRoute({
  method: 'post',
  path: '/sessions/{session}/fork',
  summary: 'Create a session with everything up to and including an entry',
  roles: EVERYBODY,
  body: z.strictObject({
    at: Index.optional().describe('The last entry if omitted.'),
    id: nameSchema(200).optional(),
  }),
  bodyOptional: true,
  answer: SessionOut,
  status: 201,
  refusals: [409],
  async run({ params, body = {}, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    if (session.fold.entries.length === 0) {
      throw new PalimpsestError('ALREADY', `Session ${session.id} is empty: there is nothing to fork.`)
    }
    // A fork at an earlier entry does not have the later edits, by which the user hides something.
    const hider = caller.role === 'agent' && body.at !== undefined && hiddenUpTo(session.fold, body.at)
    if (hider) throw hiddenError(`something up to entry ${body.at}`, hider)
    const made = await session.fork(body.at, body.id)
    return (await doors.desk.find(caller, made.id))!
  },
})

export const editRoutes: readonly Route[] = [list, edit, apply, undo, redo, pin, restore, fork]

/** In the ledger an agent is recorded as an agent, and every other caller as a user. */
function authorOf(caller: Caller): Author {
  return caller.role === 'agent' ? 'agent' : 'user'
}

/** Throws if the session does not have these entries. */
export function checkEntries(fold: Fold, { from, to }: { from: number; to: number }): void {
  const { length } = fold.entries
  if (from > to)
    throw new PalimpsestError('ALREADY', `Entries ${from}–${to} are in the wrong order: name the first one first.`)
  if (to < length) return
  throw new PalimpsestError('ENTRY_NOT_FOUND', `There is no entry ${to}; the session has ${length}.`, { entry: to })
}

function checkAuthor(session: Session, id: string, caller: Caller): void {
  if (caller.role !== 'agent' || session.fold.records.get(id)?.edit.by !== 'user') return
  throw forbidden(`Edit ${id} was made by the user, so an agent cannot change it.`, { edit: id })
}

function stateOf(session: Session, id: string) {
  const { edit, active, seq } = session.fold.records.get(id)!
  return { ...edit, active, seq }
}
