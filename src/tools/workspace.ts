/** Tools with which an agent adds lines to files of its workspace; an existing line is not added again. */

import { z } from 'zod'
import {
  type Added,
  defaultWorkspaceFolder,
  logDay,
  logError,
  logLearning,
  requestFeature,
  saveFact,
  type Workspace,
} from '../memory/workspace.ts'
import { PalimpsestError } from '../model/errors.ts'
import { defineTool, type Tool } from './tool.ts'

type LineTool<F extends string> = {
  name: string
  description: string
  /** The arguments, each with its description. */
  fields: Record<F, string>
  add: (workspace: Workspace, texts: Record<F, string>) => Promise<Added>
  done?: string
}

/** A tool that makes one line of the workspace from its text arguments. */
function lineTool<const F extends string>({ name, description, fields, add, done = 'Logged' }: LineTool<F>): Tool {
  const shape = Object.entries<string>(fields).map(([field, about]) => [field, z.string().describe(about)] as const)
  return defineTool({
    name,
    description,
    input: z.object(Object.fromEntries(shape)),
    annotations: { destructive: false },
    run: async (texts, { workspace: folder = defaultWorkspaceFolder(), now, entries }) => {
      const empty = Object.keys(fields).find(field => texts[field]?.trim() === '')
      if (empty !== undefined) throw new PalimpsestError('INVALID_INPUT', `${empty} is empty.`)
      const { path, added } = await add({ folder, now, source: entries?.()[0] }, texts as Record<F, string>)
      return added ? `${done} in ${path}` : `Already in ${path}; nothing was added`
    },
  })
}

export const workspaceTools: readonly Tool[] = [
  lineTool({
    name: 'workspace_save_fact',
    description:
      'Remember a fact for all later sessions (MEMORY.md): a convention, a decision, where something is. One short ' +
      'sentence that stays true, e.g. "This project uses TypeScript". Not for progress: use workspace_daily_log.',
    fields: { fact: 'The fact, in one sentence.' },
    add: (workspace, { fact }) => saveFact(workspace, fact),
    done: 'Saved',
  }),
  lineTool({
    name: 'workspace_log_learning',
    description:
      'Note an insight about how to work here (.learnings/LEARNINGS.md): what turned out to work better, and why. The ' +
      'newest are shown at the start of every session. For an error with its solution use workspace_log_error.',
    fields: { learning: 'The insight, in one or two sentences.' },
    add: (workspace, { learning }) => logLearning(workspace, learning),
  }),
  lineTool({
    name: 'workspace_log_error',
    description:
      'Note an error and what solved it (.learnings/ERRORS.md), so that it can be looked up when it comes back.',
    fields: { error: 'The error: its message, and when it appears.', solution: 'What solved it.' },
    add: (workspace, { error, solution }) => logError(workspace, error, solution),
  }),
  lineTool({
    name: 'workspace_daily_log',
    description:
      "Add a line to today's log (memory/YYYY-MM-DD.md): what was done, decided or left open. Use it at milestones and " +
      'before you stop, so that the next session of the day knows where you are.',
    fields: { entry: 'What happened, in one line.' },
    add: (workspace, { entry }) => logDay(workspace, entry),
  }),
  lineTool({
    name: 'workspace_request_feature',
    description:
      'Note something that is missing and would help (.learnings/FEATURE_REQUESTS.md): a tool, an option, a fix.',
    fields: { request: 'What is missing and what it would make possible.' },
    add: (workspace, { request }) => requestFeature(workspace, request),
  }),
]

/** For a system prompt. */
export const WORKSPACE_GUIDE = `Remembering for later sessions: one line, in the right file, while you still know it.
- A fact that stays true: workspace_save_fact
- What works better here, and why: workspace_log_learning
- An error and what solved it: workspace_log_error
- Milestones, and where you are before you stop: workspace_daily_log
- What is missing: workspace_request_feature`
