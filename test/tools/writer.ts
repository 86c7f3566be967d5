/**
 * A separate process that changes one file many times, for tests of concurrency. It prints one line for each
 * acknowledged change: `node writer.ts <root> <file> <name> <count> <edit|append|grow>`.
 */

import { writeSync } from 'node:fs'
import { memoryJournal } from '../../src/files/journal.ts'
import { appendToFile, editFile, writeFile } from '../../src/tools/edit-files.ts'
import { runTool } from '../../src/tools/tool.ts'

const [root = '', path = '', name = '', count = '0', mode = 'edit'] = process.argv.slice(2)
const context = { root, journal: memoryJournal(), now: Date.now }

for (let i = 0; i < Number(count); i++) {
  const line = `${name}-${i}`
  const result = await change(line, i)
  if (result.isError) throw new Error(result.text)
  writeSync(1, `${line}\n`)
}

function change(line: string, i: number) {
  if (mode === 'append') return runTool(appendToFile, { path, content: `${line}\n` }, context)
  if (mode === 'grow') return runTool(writeFile, { path, content: `${String(i % 10).repeat(200_000)}\n` }, context)
  return runTool(editFile, { path, old_string: '<end>', new_string: `${line}\n<end>` }, context)
}
