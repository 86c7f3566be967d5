/**
 * A test helper for custom policies and planners: plays a conversation as a session would, and reports every broken
 * promise that a policy must keep. It calls no model and writes nothing.
 */

import { DEFAULT_MODEL, MEMORY } from '../model/defaults.ts'
import type { Edit, Message } from '../model/types.ts'
import { type PlannerFactory, type Policy, placeOf } from '../policies/policy.ts'
import { openPalimpsest } from '../session/engine.ts'
import type { Session } from '../session/session.ts'

export type PolicyCheck = {
  /** The problems, one sentence each; empty for a policy that keeps all promises. */
  problems: string[]
  /** The edits that it made, and the tokens by which the view is shorter. */
  edits: Edit[]
  saved: number
}

type CheckPolicyOptions = { model?: string }

/**
 * @example
 * const { problems, saved } = await checkPolicy(noLogs, messages)
 * assert.deepEqual(problems, [])
 */
export async function checkPolicy(
  policy: Policy | PlannerFactory,
  messages: readonly Message[],
  { model = DEFAULT_MODEL }: CheckPolicyOptions = {},
): Promise<PolicyCheck> {
  const first = await play(policy, messages, model)
  const second = await play(policy, messages, model)
  const problems = [...first.problems]
  const edits = editsOf(first.session)
  const made = edits.filter(edit => edit.by.startsWith('policy:'))
  if (JSON.stringify(edits) !== JSON.stringify(editsOf(second.session))) problems.push('two runs made different edits')
  problems.push(...(await askAgain(first.session)), ...(await askAfterUndo(second.session)))
  for (const { session } of [first, second]) await session.close()
  return { problems, edits: made, saved: made.reduce((sum, edit) => sum + edit.saved, 0) }
}

type Played = { session: Session & { close(): Promise<void> }; problems: string[] }

/** One view for each message, as an agent would ask for it. */
async function play(policy: Policy | PlannerFactory, messages: readonly Message[], model: string): Promise<Played> {
  const pal = await openPalimpsest({ home: MEMORY, clock: () => 0, keepFile: async () => undefined })
  const session = await pal.session('check', { planner: policy, model })
  const problems: string[] = []
  for (const [index, message] of messages.entries()) {
    await session.append(message)
    const { report } = await session.view()
    for (const { rule, message: text } of report) problems.push(`after message ${index}: ${rule}: ${text}`)
  }
  return { session: Object.assign(session, { close: () => pal.close() }), problems }
}

async function askAgain(session: Session): Promise<string[]> {
  const before = editsOf(session).length
  await session.view()
  const more = editsOf(session).slice(before)
  return more.map(edit => `asked again, it edits ${placeOf(edit.target)}, although nothing is new`)
}

async function askAfterUndo(session: Session): Promise<string[]> {
  const undone = session.edits().filter(({ edit, active }) => active && edit.by.startsWith('policy:'))
  for (const { edit } of undone.toReversed()) await session.undo(edit.id)
  const before = editsOf(session).length
  await session.view()
  const places = new Set(undone.map(({ edit }) => placeOf(edit.target)))
  const back = editsOf(session).slice(before)
  return back.flatMap(({ target }) =>
    places.has(placeOf(target)) ? `it edits ${placeOf(target)} again after an undo` : [],
  )
}

function editsOf(session: Session): Edit[] {
  return session.edits().map(({ edit }) => edit)
}
