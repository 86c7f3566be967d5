/** The folder that a coding agent works in, from its first messages to the model. */
import { isAbsolutePath } from '../../model/paths.ts'
import { headOf } from '../../model/text.ts'

/**
 * The phrases of Claude Code and opencode; Codex; Cline; Gemini CLI. A line end is `\n` here, because the text is JSON.
 */
const SAYINGS = [
  /[Ww]orking directory: ([^\\"\n]{1,500})/,
  /<cwd>([^<\\"\n]{1,500})<\/cwd>/,
  /Current Working Directory \(([^()\\"\n]{1,500})\)/,
  /working in the directory: ([^\\"\n]{1,500})/,
]
const LOOKED_AT_CHARS = 200_000
const FIRST_MESSAGES = 4

export function projectIn(body: Record<string, unknown>): string | undefined {
  const { system, instructions, systemInstruction } = body
  const first = [body['messages'], body['input'], body['contents']].flatMap(list =>
    Array.isArray(list) ? list.slice(0, FIRST_MESSAGES) : [],
  )
  const text = headOf(JSON.stringify([system, instructions, systemInstruction, first]), LOOKED_AT_CHARS)
  for (const saying of SAYINGS) {
    const path = saying.exec(text)?.[1]?.trim()
    if (path !== undefined && isAbsolutePath(path)) return path
  }
  return undefined
}
