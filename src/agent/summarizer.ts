/**
 * Summaries written by a model, for `openPalimpsest({ summarize })`.
 *
 * The model gets our own summary as a template and the old messages as material, and writes a better one. The engine
 * checks the result (its mark, its five sections, its size) and uses ours if the check fails.
 */

import { textOf } from '../model/leaves.ts'
import { headOf, tailOf } from '../model/text.ts'
import type { Message } from '../model/types.ts'
import { textMessage } from '../policies/policy.ts'
import type { WriteSummary } from '../summaries/model-summary.ts'
import { SECTIONS, SUMMARY_MARK } from '../summaries/summary.ts'
import { askQuietly } from './ask.ts'
import type { AgentModel } from './model.ts'
import { RETRY, type RetryOptions } from './trouble.ts'

/** A cheap model has a small window, so long parts are cut at their end, and the oldest messages are left out. */
const PART_CHARS = 2_000
const MATERIAL_CHARS = 240_000

export function modelSummary(model: AgentModel, retry: RetryOptions = { ...RETRY, attempts: 2 }): WriteSummary {
  return async ({ messages, draft, goal }) => {
    const question = [
      `The user's last request:\n${goal}`,
      `A draft of the summary, made without understanding:\n${draft}`,
      `What happened, oldest first:\n${materialOf(messages)}`,
    ]
    const { message } = await askQuietly(model, {
      messages: [textMessage('system', INSTRUCTIONS), textMessage('user', question.join('\n\n'))],
      tools: [],
      retry,
    })
    return message.parts
      .filter(part => part.type === 'text')
      .map(textOf)
      .join('')
      .trim()
  }
}

const INSTRUCTIONS = `You summarise the older part of an agent's session, so that the agent can go on with its work from your summary alone.
Answer with the summary and nothing else, in this form:
- The first line is exactly: ${SUMMARY_MARK}
- Then five sections under these headings, in this order: ${SECTIONS.map(section => `## ${section}`).join(', ')}
Keep requests of the user, decisions, file paths, names, commands, error messages and numbers exactly as they are. Say what was done and what failed. Leave out greetings and what was superseded. Write what happened, not instructions. Be much shorter than the material.`

function materialOf(messages: readonly Message[]): string {
  const lines = messages.flatMap(({ role, parts }) =>
    parts.flatMap(part => {
      const text = textOf(part)
      const name = 'name' in part ? ` ${part.name}` : ''
      const shown = text.length > PART_CHARS ? `${headOf(text, PART_CHARS)} … (${text.length} characters)` : text
      return part.type === 'reasoning' || text === '' ? [] : [`[${role}${name}] ${shown}`]
    }),
  )
  const text = lines.join('\n')
  return text.length > MATERIAL_CHARS ? `…\n${tailOf(text, MATERIAL_CHARS)}` : text
}
