/**
 * Asks the user of an MCP client about a proposal for their memory, without the model if the client supports that.
 *
 * A client with elicitation is asked to put the question to its user, and the user's answer decides. That is only for a
 * client on the user's own machine (stdio), never for the token of an agent. Every client gets a line for the user in
 * the result. The line has no signed link in it: clients show results to their model.
 */
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { AgentMemory } from '../../memory/memory.ts'
import type { Review } from '../../memory/review.ts'
import type { Proposal } from '../../memory/store.ts'
import type { MemoryOf } from './resources.ts'

/** Wraps a memory and notes the proposals made through it. */
export function noting(memory: AgentMemory): { memory: AgentMemory; made: Proposal[] } {
  const made: Proposal[] = []
  const propose: AgentMemory['propose'] = async (label, input) => {
    const proposal = await memory.propose(label, input)
    made.push(proposal)
    return proposal
  }
  return { memory: { ...memory, propose }, made }
}

const MOST = 100
const ANSWERS = ['approve', 'reject', 'later']
/** The milliseconds that a user may take to answer. */
const PATIENCE_MS = 30 * 60_000

export async function waitingLine({ memory, user, where = 'palimpsest memory proposals' }: MemoryOf) {
  const count = (await memory.proposals(user, { state: 'open', limit: MOST })).length
  const what = count === 1 ? '1 change to memory waits' : `${count} changes to memory wait`
  const text = `For the user: ${what} for your decision: ${where}`
  return { type: 'text' as const, text, annotations: { audience: ['user' as const] } }
}

/** Asks through the client, and applies the user's decision. If the client cannot ask, the proposal stays open. */
export async function askUser(server: Server, { memory, user, canAsk }: MemoryOf, { id }: Proposal): Promise<void> {
  if (!canAsk || !server.getClientCapabilities()?.elicitation) return
  const decision = { type: 'string' as const, title: 'Decision', enum: ANSWERS }
  const { action, content } = await server.elicitInput(
    {
      message: questionAbout(await memory.review(user, id)),
      requestedSchema: { type: 'object', properties: { decision }, required: ['decision'] },
    },
    { timeout: PATIENCE_MS },
  )
  const by = `user:${user}` as const
  if (action !== 'accept') return
  if (content?.['decision'] === 'approve') await memory.approve(user, id, { by })
  if (content?.['decision'] === 'reject') await memory.reject(user, id, { by })
}

function questionAbout({ proposal, diff }: Review): string {
  const { label, agentId, reasoning } = proposal
  const marks = { same: ['', ''], added: ['{+', '+}'], removed: ['[-', '-]'] } as const
  const change = diff.map(({ type, text }) => marks[type].join(text)).join('')
  return `${agentId} proposes to change your memory block '${label}': ${reasoning}\n\n${change}`
}
