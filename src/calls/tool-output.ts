/**
 * Two kinds of text that agents add to the results of their tools: the exit code of a command, and line numbers before
 * the lines of a file. Both are recognised by their form, at the places where agents put them.
 */

const EXIT_LINES = [
  /^Exit [Cc]ode:? (-?\d+)$/,
  /^\[exit code (-?\d+)\]$/,
  /^Process exited with code (-?\d+)$/,
  /^Command exited with code (-?\d+)$/,
  /^<returncode>(-?\d+)<\/returncode>/,
  /^<(?:shellId: \S+ completed|exited) with exit code (-?\d+)>$/,
  /^\[(?:The command completed|Command finished) with exit code (-?\d+)\.?\]$/,
]
/** Codex's older form: JSON around the output. */
const EXIT_JSON = /"metadata":\s*\{"exit_code":\s*(-?\d+)(?:[^\d{}][^{}]*)?\}\}$/
/** Every form has one of these words. */
const MENTIONED = /xit|returncode/
const HEAD_CHARS = 400
const TAIL_CHARS = 300

/** The exit code that the output of a command states, in the form of any of the agents that we know. */
export function exitCode(output: string): number | undefined {
  const [start, end] = [output.slice(0, HEAD_CHARS), output.slice(-TAIL_CHARS)]
  if (!MENTIONED.test(start) && !MENTIONED.test(end)) return undefined
  const head = start.split('\n', 6)
  const tail = end.split('\n').slice(-5)
  // Codex prints a header and closes it with this line; the program's output follows.
  const body = head.indexOf('Output:')
  for (const line of [...(body < 0 ? head : head.slice(0, body)), ...tail.reverse()]) {
    const code = MENTIONED.test(line) ? matchFirst(EXIT_LINES, line.trim()) : undefined
    if (code !== undefined) return code
  }
  return output.startsWith('{"output":') ? matchFirst([EXIT_JSON], end.trim()) : undefined
}

function matchFirst(patterns: readonly RegExp[], line: string): number | undefined {
  for (const pattern of patterns) {
    const match = pattern.exec(line)
    if (match) return Number(match[1])
  }
  return undefined
}

type NumberForm = {
  prefix: RegExp
  /**
   * Whether ordinary text can have this form: then it counts only if nothing but an agent's own wrapper is before it.
   */
  ambiguous: boolean
}

const NUMBER_FORMS: readonly NumberForm[] = [
  { prefix: /^ *(\d+)→/, ambiguous: false },
  { prefix: /^ *(\d+)\t/, ambiguous: false },
  { prefix: /^(\d+)\| /, ambiguous: false },
  { prefix: /^(\d+): ?/, ambiguous: true },
  { prefix: /^(\d+)\. /, ambiguous: true },
]
const WRAPPER = /^(?:<(?:path|type|content|file|output|returncode)\b.*|\[File: .*|\(\d+ more lines above\)|)$/
/** Lines of an agent's own before the first numbered one. */
const MAX_LEADING_LINES = 8
const MIN_NUMBERED_SHARE = 0.9

/** The text without the line numbers that a read tool (or `cat -n`, `nl`) put before every line. */
export function stripLineNumbers(text: string): string {
  const head = text.slice(0, 4000).split('\n', MAX_LEADING_LINES + 1)
  const form = NUMBER_FORMS.find(({ prefix, ambiguous }) => {
    const at = head.findIndex(line => prefix.test(line))
    return at >= 0 && (!ambiguous || head.slice(0, at).every(line => WRAPPER.test(line.trim())))
  })
  if (!form) return text
  const lines = text.split('\n')
  if (!isNumbered(lines, form)) return text
  return lines.map(line => line.replace(form.prefix, '')).join('\n')
}

/** From the first numbered line to the last, nearly all carry a number, each one more than the one before. */
function isNumbered(lines: string[], form: NumberForm): boolean {
  const numbers = lines.map(line => Number(form.prefix.exec(line)?.[1] ?? Number.NaN))
  const start = numbers.findIndex(number => !Number.isNaN(number))
  const end = numbers.findLastIndex(number => !Number.isNaN(number))
  if (start === end) return !form.ambiguous || numbers[start] === 1
  let steps = 0
  for (let at = start + 1; at <= end; at++) if (numbers[at] === (numbers[at - 1] ?? 0) + 1) steps++
  return steps >= (end - start) * MIN_NUMBERED_SHARE
}
