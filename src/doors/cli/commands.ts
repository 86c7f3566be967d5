/** The commands, in the order in which the help lists them. A new one is one line here. */
import { ask } from './ask.ts'
import { changelog, fileAt } from './changes.ts'
import { chat } from './chat.ts'
import type { Command } from './command.ts'
import { doctor } from './doctor.ts'
import { dolt } from './dolt.ts'
import { edit, edits, fork, pin, redo, undo, unpin } from './edits.ts'
import { exportSessions } from './export.ts'
import { importFiles } from './import.ts'
import { mcp } from './mcp.ts'
import { memory } from './memory.ts'
import { persona } from './persona.ts'
import { recall, restore } from './recall.ts'
import { replay } from './replay.ts'
import { report } from './report.ts'
import { runAgent } from './run-agent.ts'
import { sample } from './sample.ts'
import { serve } from './serve.ts'
import { sessions, verify } from './sessions.ts'
import { show } from './show.ts'
import { stats } from './stats.ts'
import { token } from './token.ts'
import { workspace } from './workspace.ts'

export const COMMANDS: readonly Command[] = [
  sample,
  chat,
  ask,
  persona,
  sessions,
  show,
  edits,
  edit,
  undo,
  redo,
  pin,
  unpin,
  fork,
  recall,
  restore,
  changelog,
  fileAt,
  verify,
  doctor,
  importFiles,
  exportSessions,
  replay,
  report,
  workspace,
  memory,
  mcp,
  runAgent,
  stats,
  serve,
  token,
  dolt,
]
