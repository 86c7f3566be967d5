/** Short ways to write conversations, and to see the effect of a policy on them. */
import assert from 'node:assert/strict'
import type { Edit, Message, Part } from '../../src/model/types.ts'
import { everyTurn, type Policy } from '../../src/policies/policy.ts'
import { openPalimpsest, type PalimpsestOptions } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { checkView } from '../../src/view/legality.ts'

export const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
export const says = (text: string): Message => ({ role: 'assistant', parts: [{ type: 'text', text }] })

let calls = 0

export type Step = { name: string; input?: unknown; output: string | Part[]; isError?: boolean }

/** An assistant message with calls, and a message for each result. */
export function step(...steps: Step[]): Message[] {
  const named = steps.map(one => ({ ...one, id: `call_${calls++}` }))
  return [
    {
      role: 'assistant',
      parts: named.map(({ id, name, input = {} }) => ({ type: 'tool-call', id, name, input })),
    },
    ...named.map(({ id, name, output, isError }): Message => {
      return { role: 'tool', parts: [{ type: 'tool-result', id, name, output, ...(isError ? { isError } : {}) }] }
    }),
  ]
}

export const read = (path: string, output: string, more: object = {}) =>
  step({ name: 'read_file', input: { path, ...more }, output })
export const bash = (command: string, output: string) => step({ name: 'bash', input: { command }, output })

export async function openWith(
  policies: readonly Policy[],
  options: PalimpsestOptions & { model?: string; overhead?: number } = {},
): Promise<Session> {
  const { model, overhead, ...rest } = options
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000, ...rest })
  const chosen = { ...(model ? { model } : {}), ...(overhead ? { overhead } : {}) }
  return pal.session('talk', { policy: everyTurn('test', policies), ...chosen })
}

/** Appends messages one by one and asks for a view after each. */
export async function play(session: Session, ...messages: Message[]): Promise<void> {
  for (const message of messages) {
    await session.append(message)
    const view = await session.view()
    assert.deepEqual(view.report, [])
    assert.deepEqual(checkView(view.messages, { dialect: session.options.model.dialect }), [])
  }
}

/** The texts of the view: of results, or of all messages of a role. */
export async function shown(session: Session, role: Message['role'] = 'tool'): Promise<string[]> {
  const { messages } = await session.view({ plan: false })
  return messages.filter(message => message.role === role).map(message => message.parts.map(partText).join('\n'))
}

export function editsBy(session: Session, policy: string): Edit[] {
  return session.edits().flatMap(({ edit }) => (edit.by === `policy:${policy}` ? [edit] : []))
}

function partText(part: Part): string {
  if (part.type === 'tool-result') {
    return typeof part.output === 'string' ? part.output : part.output.map(partText).join('\n')
  }
  if (part.type === 'tool-call') return JSON.stringify(part.input)
  return part.type === 'text' || part.type === 'reasoning' ? part.text : `<${part.type}>`
}
