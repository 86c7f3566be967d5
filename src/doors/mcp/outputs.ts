/**
 * Keeps a command's long output for clients that keep their own conversation. The client gets the beginning and the
 * end; call and output are recorded in a session beside the client's, one for each day, from which `recall` reads them.
 * They cannot be added to the client's own session: it follows the client's messages and would fork.
 */
import { randomUUID } from 'node:crypto'
import { messageOf } from '../../model/errors.ts'
import { headOf } from '../../model/text.ts'
import type { Message } from '../../model/types.ts'
import type { Palimpsest } from '../../session/engine.ts'
import type { Session } from '../../session/session.ts'
import type { ToolResult } from '../../tools/tool.ts'
import { partId } from '../../view/shown-texts.ts'
import { dayOf } from '../../view/totals.ts'

const LONGEST_BASE = 150
const TITLE = 'Long outputs of commands run over MCP'

type Place = { pal: Palimpsest; session: string; root: string }
type Ran = { tool: string; input: unknown; result: ToolResult; now: number }

/** The text for the client. A long output is recorded first, and the text says how to read all of it. */
export async function keepOutput(place: Place, { tool, input, result, now }: Ran): Promise<string> {
  const { text, whole, isError = false } = result
  if (whole === undefined) return text
  const id = randomUUID()
  const output = whole.toWellFormed()
  const call: Message = { role: 'assistant', parts: [{ type: 'tool-call', id, name: tool, input }] }
  const answer: Message = { role: 'tool', parts: [{ type: 'tool-result', id, name: tool, output, isError }] }
  try {
    const about = { project: place.root, title: TITLE }
    const session = await place.pal.session(`${baseOf(place)}${dayOf(now)}`, { planner: 'none', about })
    const [, entry = 0] = await session.append(call, answer)
    const part = `text="${partId(entry, 0, { type: 'tool-result' })}", session=${JSON.stringify(session.id)}`
    return `${text}\n[All of it: recall(${part})]`
  } catch (error) {
    // The command has run: its client must see what it did.
    return `${text}\n[The rest could not be saved: ${messageOf(error)}]`
  }
}

/** Opens a session with outputs of this place; undefined if the name is of another session. */
export function openOutputs(place: Place, session: string): Promise<Session> | undefined {
  if (!session.startsWith(baseOf(place))) return undefined
  return place.pal.session(session, { mustExist: true })
}

function baseOf({ session }: Place): string {
  return `${headOf(session, LONGEST_BASE)}-outputs-`
}
