/**
 * `delegate`: gives a part of the work to a subagent with its own context. It has its own session (and so its own
 * ledger) and the same tools except this one. Its last message is its report; everything that it read and tried stays
 * out of the delegating agent's context.
 */
import { z } from 'zod'
import { defineTool, type ToolResult } from '../tools/tool.ts'
import type { AgentEvent } from './events.ts'

export type DelegateContext = {
  /** Runs a task in a separate session and returns its report. */
  spawn(task: string, tell: (event: AgentEvent) => void, signal?: AbortSignal): Promise<ToolResult>
  /** Receives the events of the subagent. */
  tell?: (event: AgentEvent) => void
  callId?: string
  signal?: AbortSignal
}

const input = z.object({
  task: z.string().min(1).describe('What to do, complete in itself: goal, files, what counts as done.'),
  report: z.string().optional().describe('What to report back: the facts you need, and how long it may be.'),
})

export const delegateTool = defineTool<typeof input, DelegateContext>({
  name: 'delegate',
  description: [
    'Give a self-contained part of the work to a subagent. It starts with nothing but your task, has the same tools,',
    'works in a session of its own, and you get its final report. Use it for work whose intermediate output you do not',
    'need: searching a large code base, reading many files for one answer, trying something out. Several calls in one',
    'step run at the same time. Do not use it for what you can do in one or two calls yourself.',
  ].join(' '),
  input,
  annotations: { destructive: true, openWorld: true },
  run: ({ task, report }, { spawn, tell = () => {}, signal }) => spawn(toTask(task, report), tell, signal),
})

function toTask(task: string, report: string | undefined): string {
  const wanted = report ?? 'what you found or did, with paths and exact names, and what is left open'
  return `${task}\n\nWhen you are done, answer with a report for the agent that gave you this task: ${wanted}.`
}
