/** The commands, in the order in which the help lists them. A new one is one line here. */

import { chat } from '../chat/command.ts'
import { ask } from '../commands/ask.ts'
import { backup } from '../commands/backup.ts'
import { changelog, fileAt } from '../commands/changes.ts'
import { config } from '../commands/config.ts'
import { context, statusline } from '../commands/context.ts'
import { copy } from '../commands/copy.ts'
import { deleteSessions } from '../commands/delete.ts'
import { doctor } from '../commands/doctor.ts'
import { dolt } from '../commands/dolt.ts'
import { edit, edits, fork, pin, redo, undo, unpin } from '../commands/edits.ts'
import { exportSessions } from '../commands/export.ts'
import { importFiles } from '../commands/import.ts'
import { install, logs, status, uninstall } from '../commands/install.ts'
import { mcp } from '../commands/mcp.ts'
import { memory } from '../commands/memory.ts'
import { models } from '../commands/models.ts'
import { persona } from '../commands/persona.ts'
import { recall, restore } from '../commands/recall.ts'
import { redact } from '../commands/redact.ts'
import { replay } from '../commands/replay.ts'
import { report } from '../commands/report.ts'
import { retention } from '../commands/retention.ts'
import { runAgent } from '../commands/run.ts'
import { sample } from '../commands/sample.ts'
import { secrets } from '../commands/secrets.ts'
import { serve } from '../commands/serve.ts'
import { sessions } from '../commands/sessions.ts'
import { share } from '../commands/share.ts'
import { show } from '../commands/show.ts'
import { stats } from '../commands/stats.ts'
import { rename, tag } from '../commands/tag.ts'
import { token } from '../commands/token.ts'
import { head, verify } from '../commands/verify.ts'
import { welcome } from '../commands/welcome.ts'
import { why } from '../commands/why.ts'
import { workspace } from '../commands/workspace.ts'
import type { Command } from '../terminal/command.ts'

export const COMMANDS: readonly Command[] = [
  welcome,
  sample,
  chat,
  ask,
  persona,
  sessions,
  tag,
  rename,
  show,
  context,
  statusline,
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
  head,
  doctor,
  importFiles,
  exportSessions,
  share,
  secrets,
  redact,
  deleteSessions,
  retention,
  backup,
  copy,
  replay,
  config,
  models,
  report,
  why,
  workspace,
  memory,
  mcp,
  runAgent,
  install,
  uninstall,
  status,
  logs,
  stats,
  serve,
  token,
  dolt,
]
