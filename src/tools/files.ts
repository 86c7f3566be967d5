/** The file tools in the order in which a model should consider them, and a guide to choosing one. */

import { runCommand } from './command.ts'
import { appendToFile, editFile, prependToFile, undoEdit, updateSection, writeFile } from './edit-files.ts'
import { listFiles, readFile, searchFiles } from './read-files.ts'
import type { Tool } from './tool.ts'

export const fileTools: readonly Tool[] = [
  readFile,
  listFiles,
  searchFiles,
  editFile,
  appendToFile,
  prependToFile,
  updateSection,
  writeFile,
  undoEdit,
  runCommand,
]

/** For a system prompt. */
export const FILE_TOOL_GUIDE = `Changing files: name what changes, never rewrite what you do not have in view.
- Change a value, a line or a block: edit_file
- Add an entry or a section: append_to_file (at the beginning: prepend_to_file)
- Bring a Markdown section up to date: update_section
- Create a file: write_file
- Replace a whole file (rare): read_file first, then write_file
- Take back your last change of a file: undo_edit`
