/** `sed` and `awk`: which lines they show of which files, and what `sed -i` with literal texts changes. */
import { type FileWrite, type LineRange, NEUTRAL, READ, SEARCH, type Step, WRITE } from './shell-steps.ts'
import { isLiteral, plain, type SimpleCommand } from './shell-words.ts'

export function classifySed(words: string[], command: SimpleCommand): Step {
  const { quiet, inPlace, script, rest } = sedArguments(words)
  const files = [...rest, ...command.in]
  if (inPlace) return changedInPlace(script, rest)
  const range = sedRange(script, quiet)
  if (range) return { rank: files.length > 0 ? READ : NEUTRAL, paths: files, range }
  if (files.length === 0) return { rank: NEUTRAL }
  return { rank: quiet ? READ : SEARCH, paths: files, query: plain(script) }
}

function changedInPlace(script: string, files: readonly string[]): Step {
  const paths = files.filter(path => path !== '')
  const substitute = isLiteral(script) ? literalSubstitution(plain(script)) : undefined
  const writes = substitute ? paths.map(path => ({ path, substitute })) : []
  return { rank: WRITE, paths, query: plain(script), writes }
}

/** `s/old/new/` or `s/old/new/g` with literal texts; `undefined` for anything else. */
function literalSubstitution(script: string): FileWrite['substitute'] {
  const mark = /^s[/|#,@]/.test(script) ? script[1]! : undefined
  const [old, text, flags, more] = mark === undefined ? [] : script.slice(2).split(mark)
  if (!old || text === undefined || more !== undefined || (flags !== '' && flags !== 'g')) return undefined
  if (/[\\.*^$[\]+?(){}|]/.test(old) || /[\\&]/.test(text)) return undefined
  return { old, new: text, all: flags === 'g' }
}

function sedArguments(words: string[]) {
  let quiet = false
  let inPlace = false
  const scripts: string[] = []
  const rest: string[] = []
  for (let at = 1; at < words.length; at++) {
    const word = words[at]!
    if (word === '-e' || word === '--expression') scripts.push(words[++at] ?? '')
    else if (/^-i|^--in-place|^-[nEr]+i/.test(word)) inPlace = true
    else if (/^-[nErsuz]+$|^--/.test(word)) quiet ||= word.includes('n')
    else rest.push(word)
  }
  const script = scripts.length > 0 ? scripts.join(';') : (rest.shift() ?? '')
  return { quiet, inPlace, script, rest }
}

/** The lines that `5,9p` or `20q` print; undefined for a script that does anything else. */
function sedRange(script: string, quiet: boolean): LineRange | undefined {
  const [, from, to, verb] = /^(\d+)(?:,(\d+|\$|\+\d+))?(p|q)(?:;\s*\d+q)?;?$/.exec(script.trim()) ?? []
  const first = Number(from)
  if (verb === 'q') return [1, first]
  if (verb !== 'p' || !quiet) return undefined
  if (to === undefined) return [first, first]
  if (to === '$') return [first, Infinity]
  return [first, to.startsWith('+') ? first + Number(to) : Number(to)]
}

export function classifyAwk(words: string[], command: SimpleCommand): Step {
  const rest = words.slice(1).filter((word, at, all) => !word.startsWith('-') && !/^-[vF]$/.test(all[at - 1] ?? ''))
  const script = rest.shift() ?? ''
  const files = [...rest, ...command.in]
  let first = 1
  let last = Infinity
  const bare = script.replace(/NR\s*(==|>=|<=|>|<)\s*(\d+)/g, (_, sign: string, text: string) => {
    const line = Number(text)
    if (sign === '==' && first > 1) last = line
    else if (sign === '==') [first, last] = [line, line]
    else if (sign.startsWith('>')) first = line + (sign === '>' ? 1 : 0)
    else last = Math.min(last, line - (sign === '<' ? 1 : 0))
    return ''
  })
  const linesOnly = bare !== script && !/\/|NR|~/.test(bare)
  if (files.length === 0) return linesOnly ? { rank: NEUTRAL, range: [first, last] } : { rank: NEUTRAL }
  return linesOnly
    ? { rank: READ, paths: files, range: [first, last] }
    : { rank: SEARCH, paths: files, query: plain(script) }
}
