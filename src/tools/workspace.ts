/** Tools by which an agent adds to its workspace: one line each, in the right file, never twice. */

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
import { defineTool, type Tool, type ToolContext } from './tool.ts'

const saveFactTool = defineTool({
  name: 'workspace_save_fact',
  description: [
    'Remember a fact for all later sessions (MEMORY.md): a convention, a decision, where something is. One short',
    'sentence that stays true, e.g. "This project uses TypeScript". Not for progress: use workspace_daily_log.',
  ].join(' '),
  input: z.object({ fact: z.string().describe('The fact, in one sentence.') }),
  annotations: { destructive: false },
  run: async ({ fact }, context) => report('Saved', await saveFact(open(context), filled('fact', fact))),
})

const logLearningTool = defineTool({
  name: 'workspace_log_learning',
  description: [
    'Note an insight about how to work here (.learnings/LEARNINGS.md): what turned out to work better, and why. The',
    'newest are shown at the start of every session. For an error with its solution use workspace_log_error.',
  ].join(' '),
  input: z.object({ learning: z.string().describe('The insight, in one or two sentences.') }),
  annotations: { destructive: false },
  run: async ({ learning }, context) =>
    report('Logged', await logLearning(open(context), filled('learning', learning))),
})

const logErrorTool = defineTool({
  name: 'workspace_log_error',
  description:
    'Note an error and what solved it (.learnings/ERRORS.md), so that it can be looked up when it comes back.',
  input: z.object({
    error: z.string().describe('The error: its message, and when it appears.'),
    solution: z.string().describe('What solved it.'),
  }),
  annotations: { destructive: false },
  run: async ({ error, solution }, context) =>
    report('Logged', await logError(open(context), filled('error', error), filled('solution', solution))),
})

const dailyLogTool = defineTool({
  name: 'workspace_daily_log',
  description: [
    "Add a line to today's log (memory/YYYY-MM-DD.md): what was done, decided or left open. Use it at milestones and",
    'before you stop, so that the next session of the day knows where you are.',
  ].join(' '),
  input: z.object({ entry: z.string().describe('What happened, in one line.') }),
  annotations: { destructive: false },
  run: async ({ entry }, context) => report('Logged', await logDay(open(context), filled('entry', entry))),
})

const requestFeatureTool = defineTool({
  name: 'workspace_request_feature',
  description:
    'Note something that is missing and would help (.learnings/FEATURE_REQUESTS.md): a tool, an option, a fix.',
  input: z.object({ request: z.string().describe('What is missing and what it would make possible.') }),
  annotations: { destructive: false },
  run: async ({ request }, context) =>
    report('Logged', await requestFeature(open(context), filled('request', request))),
})

export const workspaceTools: readonly Tool[] = [
  saveFactTool,
  logLearningTool,
  logErrorTool,
  dailyLogTool,
  requestFeatureTool,
]

/** For a system prompt. */
export const WORKSPACE_GUIDE = `Remembering for later sessions: one line, in the right file, while you still know it.
- A fact that stays true: workspace_save_fact
- What works better here, and why: workspace_log_learning
- An error and what solved it: workspace_log_error
- Milestones, and where you are before you stop: workspace_daily_log
- What is missing: workspace_request_feature`

function open(context: ToolContext): Workspace {
  const { workspace: folder = defaultWorkspaceFolder(), now, entries } = context
  return { folder, now, source: entries?.()[0] }
}

function filled(argument: string, text: string): string {
  if (text.trim() === '') throw new PalimpsestError('INVALID_INPUT', `${argument} is empty.`)
  return text
}

function report(done: string, { path, added }: Added): string {
  return added ? `${done} in ${path}` : `Already in ${path}; nothing was added`
}
