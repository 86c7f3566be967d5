/**
 * What a shell command does: reads a file, searches, writes a file, or runs something.
 *
 * A chain counts as its most consequential step (run > write > search > read); `cd`, `echo` and the like count
 * for nothing, and neither does a filter in a pipeline (`nl f | sed -n '1,80p'` is a read of lines 1 to 80).
 * The guess errs towards "runs": only commands that are known to be harmless are called reads or searches.
 */

import { addAll } from '../model/lists.ts'
import { isAbsolutePath, normalizePath } from '../model/paths.ts'
import { classifyGit, resolvedEffect } from './shell-git.ts'
import {
  type FileWrite,
  type GitEffect,
  type LineRange,
  lastStep,
  moving,
  NEUTRAL,
  nameSet,
  patching,
  READ,
  RUN,
  SEARCH,
  type Step,
  WRITE,
} from './shell-steps.ts'
import { classifyAwk, classifySed } from './shell-stream-editors.ts'
import { commandOf, isLiteral, plain, type ShellOptions, type SimpleCommand, splitShell } from './shell-words.ts'

export type ShellInfo = {
  kind: 'shell' | 'shell-read' | 'shell-search' | 'shell-write'
  paths: string[]
  range?: LineRange
  query?: string
  patch?: string
  /** Every file that the command visibly writes. */
  writes: FileWrite[]
  /** Effects on git's index and HEAD; `after` is the number of writes before the effect. */
  git: (GitEffect & { after: number })[]
}

/** `bash -c "bash -c …"`: at a greater depth it counts as a run. */
const MAX_SHELLS = 4
/** A longer path is not followed: each `cd` reads the whole path anew. */
const MAX_PATH = 1000

const KINDS = ['shell', 'shell-read', 'shell-search', 'shell-write', 'shell'] as const

const PREFIXES = nameSet(
  'do then else elif if while until ! time { command exec nohup builtin sudo env nice stdbuf timeout',
)
const NOTHING = nameSet(
  'cd chdir pushd popd set-location echo printf true false : export set unset source . alias test [ [[ ]] read sleep wait exit ' +
    'return shift trap local declare typeset ulimit umask shopt mktemp for case select function done fi esac } write-host ' +
    'write-output start-sleep clear',
)
const FILTERS = nameSet(
  'sort uniq cut tr column fold fmt paste rev less more cat tac nl bat batcat out-string format-table ft select-object',
)
const READERS = nameSet('cat bat batcat less more tac nl zcat view type get-content gc')
const SEARCHERS = nameSet(
  'rg grep egrep fgrep zgrep ag ack fd fdfind ls dir eza exa tree wc stat file du df which whereis where realpath readlink ' +
    'basename dirname pwd date whoami id uname hostname env printenv ps diff cmp comm md5sum sha1sum sha256sum shasum cksum ' +
    'strings xxd od hexdump jq yq sort uniq cut column lsof pgrep tokei cloc scc select-string sls get-childitem gci ' +
    'get-item test-path resolve-path get-location get-command get-process measure-object search_dir search_file find_file ' +
    'where-object foreach-object',
)
const CHANGERS = nameSet('ln truncate install copy-item move-item new-item')
const MODES = nameSet('chmod chown chgrp')
const REMOVERS = nameSet('rm rmdir unlink del remove-item')
const WRITERS = nameSet('tee set-content out-file add-content')
const SHELLS = nameSet('bash sh zsh dash ksh fish pwsh powershell')
/** Options that take the next word as their value, so that it is not mistaken for a file. */
const VALUED: Record<string, ReadonlySet<string>> = {
  rg: nameSet('-g --glob -t --type -T -A -B -C -m -e -f -M -j --max-count --sort --max-depth -d --iglob --context'),
  grep: nameSet('-A -B -C -m -e -f --include --exclude --exclude-dir --context'),
  head: nameSet('-n -c --lines --bytes'),
  tail: nameSet('-n -c --lines --bytes'),
  nl: nameSet('-b -w -s -v -i'),
  bat: nameSet('-r --line-range -l --language --style --theme'),
  tree: nameSet('-L -I -P'),
  ls: nameSet('-I'),
  'get-content': nameSet('-totalcount -tail -head -encoding -path -first -last'),
}
const SAME_OPTIONS: Record<string, string> = { egrep: 'grep', fgrep: 'grep', batcat: 'bat', gc: 'get-content' }

/** `cwd` is where the command starts; paths come out resolved against it and against every `cd` on the way. */
export function describeShell(command: string | string[], cwd?: string, options: ShellOptions = {}): ShellInfo {
  const commands =
    typeof command === 'string' ? (sweEdit(command) ?? splitShell(command, options)) : [commandOf(command)]
  return summarize(walk(commands, { dir: cwd, nesting: 0 }, options))
}

/** The folder that a command runs in. `lost`: a `cd` led to a place that only the shell knows. */
type Place = { dir: string | undefined; lost?: boolean; nesting: number }

/** `echo text | tee file`: treats the piped text as a heredoc. */
function withPiped(commands: readonly SimpleCommand[]): SimpleCommand[] {
  return commands.map((command, i) => {
    const before = commands[i - 1]
    if (!command.piped || !before || before.out.length > 0) return command
    if (!WRITERS.has(commandName(withoutPrefixes(command.words)))) return command
    const words = withoutPrefixes(before.words)
    const heredoc = before.piped ? undefined : written(commandName(words), words, before)
    return heredoc === undefined ? command : { ...command, heredoc }
  })
}

function walk(commands: SimpleCommand[], start: Place, options: ShellOptions): Step[] {
  const steps: Step[] = []
  const places: Place[] = [start]
  for (const command of withPiped(commands)) {
    places.length = Math.min(places.length, command.depth + 1)
    while (places.length <= command.depth) places.push({ ...places.at(-1)! })
    const place = places.at(-1)!
    const words = withoutPrefixes(command.words)
    const name = commandName(words)
    if (name === 'cd' || name === 'pushd' || name === 'set-location') changeDirectory(place, operands(name, words)[0])
    const script = place.nesting < MAX_SHELLS ? innerScript(name, words, command) : undefined
    if (script !== undefined) {
      addAll(steps, walk(splitShell(script, options), { ...place, nesting: place.nesting + 1 }, options))
      continue
    }
    const step = resolve(redirected(classify(name, words, command), name, words, command), place)
    if (!(command.piped && narrows(step, steps.at(-1)))) steps.push(step)
  }
  return steps
}

/** `cat file | head -5`: the filter narrows the read and is not a separate step. */
function narrows(filter: Step, source: Step | undefined): boolean {
  if (source?.rank !== READ || filter.rank !== NEUTRAL || !filter.range) return false
  source.range = within(source.range ?? [1, Infinity], filter.range)
  return true
}

function changeDirectory(place: Place, target: string | undefined): void {
  const isKnown = target !== undefined && isLiteral(target) && target !== '-'
  const dir = isKnown ? normalizePath(target, place.dir) : undefined
  place.lost = dir === undefined || dir.length > MAX_PATH || (place.lost === true && !isAbsolutePath(dir))
  place.dir = place.lost ? undefined : dir
}

function summarize(steps: Step[]): ShellInfo {
  const rank = steps.reduce((most, step) => Math.max(most, step.rank), NEUTRAL)
  const writes: FileWrite[] = []
  const git: ShellInfo['git'] = []
  for (const step of steps) {
    addAll(writes, step.writes ?? [])
    if (step.git) git.push({ ...step.git, after: writes.length })
  }
  const info: ShellInfo = { kind: KINDS[rank]!, paths: [], writes, git }
  if (rank === NEUTRAL || rank === RUN) return info
  const lowest = rank === SEARCH ? READ : rank
  const counted = steps.filter(step => step.rank >= lowest)
  info.paths = [...new Set(counted.flatMap(step => step.paths ?? []))]
  info.query = counted.findLast(step => step.query !== undefined)?.query
  if (rank === READ) selectLines(info, counted)
  info.patch = counted.find(step => step.patch !== undefined)?.patch
  return info
}

/** One read of one file has a range; several reads are described by the list of their lines. */
function selectLines(info: ShellInfo, reads: Step[]): void {
  if (reads.length === 1 && info.paths.length === 1) info.range = reads[0]!.range
  else if (reads.some(read => read.range || read.query))
    info.query = reads.map(read => read.query ?? (read.range ? read.range.join('-') : 'all')).join(' ')
}

/** The effect of the words, without redirections. */
function classify(name: string, words: string[], command: SimpleCommand): Step {
  const own = OWN_FORMS.get(name)?.(words, command, name)
  if (own) return own
  if (name === '' || NOTHING.has(name)) return { rank: NEUTRAL }
  const files = operands(name, words)
  if (WRITERS.has(name)) return writing(files, command, words.includes('-a') || name === 'add-content')
  if (CHANGERS.has(name)) return changing(files)
  if (name === 'mkdir' || name === 'touch') return changing(files, { kept: true })
  if (MODES.has(name)) return changing(files.slice(1), { kept: true })
  if (REMOVERS.has(name)) return changing(files, { removed: true })
  if (READERS.has(name) || (FILTERS.has(name) && command.piped))
    return reading(name, words, command, optionRange(name, words))
  if (SEARCHERS.has(name)) return searching(name, words, files)
  return { rank: RUN }
}

function reading(name: string, words: string[], command: SimpleCommand, range?: LineRange): Step {
  const files = [...operands(name, words), ...command.in]
  if (files.length === 0) return { rank: NEUTRAL, range }
  if (name === 'tail' && words.some(word => /^-[a-z]*[fF]$|^--follow/.test(word))) return { rank: RUN }
  return { rank: FILTERS.has(name) && !READERS.has(name) ? SEARCH : READ, paths: files, range }
}

function searching(name: string, words: string[], files: string[]): Step {
  const asks = /^(?:rg|z?[ef]?grep|ag|ack|fd|fdfind|jq|yq|select-string|sls|search_dir|search_file|find_file)$/.test(
    name,
  )
  if (!asks) return { rank: SEARCH, paths: files }
  const given = words.findIndex(word => word === '-e' || word === '--regexp')
  if (given > 0) return { rank: SEARCH, query: plain(words[given + 1] ?? ''), paths: files }
  if (words.includes('--files')) return { rank: SEARCH, paths: files }
  return { rank: SEARCH, query: files[0] === undefined ? undefined : plain(files[0]), paths: files.slice(1) }
}

function writing(files: string[], command: SimpleCommand, append: boolean): Step {
  const content = command.heredoc
  return { rank: WRITE, paths: files, writes: files.map(path => fileWrite(path, content, append)) }
}

function changing(files: string[], how: Pick<FileWrite, 'removed' | 'kept'> = {}): Step {
  return { rank: WRITE, paths: files, writes: files.map(path => ({ path, ...how })) }
}

function classifyFind(words: string[]): Step {
  const paths: string[] = []
  let at = 1
  while (words[at] !== undefined && !/^[-(!]/.test(words[at]!)) paths.push(words[at++]!)
  const exec = words.findIndex(word => /^-(?:exec|execdir|ok)$/.test(word))
  if (words.includes('-delete')) return { rank: RUN }
  if (exec > 0) {
    const inner = words.slice(exec + 1)
    const step = classify(commandName(inner), inner, commandOf(inner))
    return { rank: Math.max(SEARCH, step.rank), paths }
  }
  const name = words.findIndex(word => /^-i?(?:name|path|regex)$/.test(word))
  return { rank: SEARCH, paths, query: name < 0 ? undefined : words[name + 1] }
}

function fromXargs(words: string[], command: SimpleCommand): Step {
  let at = 1
  while (words[at]?.startsWith('-')) at += /^-[IndPsL]$/.test(words[at]!) ? 2 : 1
  const inner = words.slice(at)
  if (inner.length === 0) return { rank: NEUTRAL }
  const step = classify(commandName(inner), inner, { ...command, piped: true })
  // The names of the files come from the pipe, so they are unknown.
  return { rank: step.rank === NEUTRAL && !NOTHING.has(commandName(inner)) ? READ : step.rank, query: step.query }
}

type Form = (words: string[], command: SimpleCommand, name: string) => Step | undefined

const oneEnd: Form = (words, command, name) => reading(name, words, command, headOrTail(name, words))
const givenPatch: Form = (words, command) => patching(words[1] ?? command.heredoc)
const toPlace: Form = (words, _, name) => moving(name, operands(name, words))

/** Commands whose effect depends on their arguments, each with its own syntax. */
const OWN_FORMS = new Map(
  Object.entries<Form>({
    xargs: fromXargs,
    git: classifyGit,
    sed: classifySed,
    awk: classifyAwk,
    gawk: classifyAwk,
    find: classifyFind,
    head: oneEnd,
    tail: oneEnd,
    apply_patch: givenPatch,
    applypatch: givenPatch,
    patch: (_, command) => patching(command.heredoc),
    cp: toPlace,
    mv: toPlace,
    perl: words =>
      words.some(word => /^-[a-z]*i/.test(word)) ? { rank: WRITE, paths: operands('perl', words).slice(1) } : undefined,
    // SWE-agent's own commands, which it runs in the same shell.
    open: words => ({ rank: READ, paths: words.slice(1, 2), range: windowAround(words[2]) }),
    goto: () => ({ rank: READ }),
    scroll_up: () => ({ rank: READ }),
    scroll_down: () => ({ rank: READ }),
    create: words => ({ rank: WRITE, paths: words.slice(1, 2), writes: words.slice(1, 2).map(path => ({ path })) }),
    edit: () => ({ rank: WRITE }),
    insert: () => ({ rank: WRITE }),
  }),
)

function windowAround(line: string | undefined): LineRange | undefined {
  const at = Number(line)
  return Number.isInteger(at) ? [at, at] : undefined
}

/** `edit 12:30` is followed by text up to `end_of_edit`, which is not shell code. */
function sweEdit(command: string): SimpleCommand[] | undefined {
  return /^\s*edit \d+:\d+\s/.test(command) ? [commandOf(['edit'])] : undefined
}

/** A redirection makes any step except a run a write of that file. */
function redirected(step: Step, name: string, words: string[], command: SimpleCommand): Step {
  if (command.out.length === 0) return step
  const content = written(name, words, command)
  const writes = command.out.map(({ path, append }) => fileWrite(path, content, append))
  const all = [...(step.writes ?? []), ...writes]
  if (step.rank > WRITE) return { ...step, writes: all }
  return { rank: WRITE, paths: writes.map(write => write.path), writes: all }
}

function written(name: string, words: string[], command: SimpleCommand): string | undefined {
  if (name === 'cat' && words.length === 1) return command.heredoc
  const text = words.slice(1)
  if (name === 'echo' && !text[0]?.startsWith('-') && text.every(isLiteral)) return `${text.join(' ')}\n`
  return undefined
}

function fileWrite(path: string, content: string | undefined, append: boolean): FileWrite {
  return { path, ...(content === undefined ? {} : { content }), ...(append ? { append } : {}) }
}

/** Drops paths that only a shell can expand, and resolves the others. */
function resolve(step: Step, { dir, lost }: Place): Step {
  const known = (path: string) => isLiteral(path) && path !== '' && path !== '-' && (!lost || isAbsolutePath(path))
  const paths = step.paths?.filter(known).map(path => normalizePath(path, dir))
  const writes = step.writes
    ?.filter(write => known(write.path))
    .map(write => ({
      ...write,
      path: normalizePath(write.path, dir),
      ...(write.from === undefined ? {} : { from: normalizePath(write.from, dir) }),
    }))
  const git = step.git && resolvedEffect(step.git, path => (known(path) ? normalizePath(path, dir) : undefined))
  return { ...step, ...(paths ? { paths } : {}), ...(writes ? { writes } : {}), ...(git ? { git } : {}) }
}

function withoutPrefixes(words: string[]): string[] {
  let at = 0
  while (at < words.length) {
    const word = words[at]!
    if (/^[A-Za-z_]\w*\+?=/.test(word)) at++
    else if (!PREFIXES.has(word)) break
    else at = behindPrefix(words, at)
  }
  return at === 0 ? words : words.slice(at)
}

function behindPrefix(words: string[], from: number): number {
  const prefix = words[from]!
  let at = from + 1
  // `env` alone prints the environment.
  if (prefix === 'env' && at === words.length) return words.length
  if (!/^(?:sudo|env|nice|stdbuf|timeout|time)$/.test(prefix)) return at
  while (words[at]?.startsWith('-')) at += /^-[nukgs]$/.test(words[at]!) ? 2 : 1
  return prefix === 'timeout' ? at + 1 : at
}

function commandName(words: string[]): string {
  const first = words[0]
  if (first === undefined || !isLiteral(first)) return first === undefined ? '' : '$'
  // A relative path is a script of the project, even if it has the name of a command.
  if (/^\.{1,2}[\\/]/.test(first)) return first
  return lastStep(first)
    .replace(/\.exe$/i, '')
    .toLowerCase()
}

/** The text that `bash -lc "…"` or `bash <<EOF` runs. */
function innerScript(name: string, words: string[], command: SimpleCommand): string | undefined {
  if (name === 'eval' || (name === 'cmd' && /^\/c$/i.test(words[1] ?? '')))
    return plain(words.slice(name === 'eval' ? 1 : 2).join(' '))
  if (!SHELLS.has(name)) return undefined
  const flag = words.findIndex((word, at) => at > 0 && (/^-[a-z]*c$/i.test(word) || /^-command$/i.test(word)))
  if (flag > 0) return plain(words[flag + 1] ?? '')
  return words.every((word, at) => at === 0 || /^-[a-z]?$/.test(word)) ? command.heredoc : undefined
}

/** The words that are neither options nor the values of options. */
function operands(name: string, words: string[]): string[] {
  const valued = VALUED[SAME_OPTIONS[name] ?? name]
  const found: string[] = []
  for (let at = 1; at < words.length; at++) {
    const word = words[at]!
    if (word === '--') return [...found, ...words.slice(at + 1)]
    if (/^-path$/i.test(word)) found.push(words[++at] ?? '')
    else if (word.length > 1 && word.startsWith('-')) at += valued?.has(word.toLowerCase()) || valued?.has(word) ? 1 : 0
    else found.push(word)
  }
  return found
}

function headOrTail(name: string, words: string[]): LineRange | undefined {
  let count = 10
  for (let at = 1; at < words.length; at++) {
    const word = words[at]!
    if (/^(?:-c|--bytes)/.test(word)) return undefined
    const value = /^(?:-n|--lines=?)$/.test(word) ? words[at + 1] : /^(?:-n|--lines=|-)([+-]?\d+)$/.exec(word)?.[1]
    if (value !== undefined && /^[+-]?\d+$/.test(value)) {
      if (name === 'tail' && value.startsWith('+')) return [Number(value), Infinity]
      count = Math.abs(Number(value))
      break
    }
  }
  return name === 'head' ? [1, count] : [-count, Infinity]
}

/** `bat -r 10:20`, `Get-Content -TotalCount 20`, `Select-Object -First 20 -Skip 5`. */
function optionRange(name: string, words: string[]): LineRange | undefined {
  const value = (...flags: string[]) => {
    const at = words.findIndex(word => flags.includes(word.toLowerCase()))
    return at < 0 ? undefined : words[at + 1]
  }
  const lines = /^(\d*):(\d*)$/.exec(value('-r', '--line-range') ?? '')
  if (lines) return [Number(lines[1] || 1), lines[2] ? Number(lines[2]) : Infinity]
  if (!name.startsWith('get-') && !name.startsWith('select-') && name !== 'gc') return undefined
  const skip = Number(value('-skip') ?? 0)
  const first = value('-first', '-totalcount', '-head')
  const last = value('-last', '-tail')
  if (last !== undefined) return [-Number(last), Infinity]
  return first === undefined && skip === 0
    ? undefined
    : [skip + 1, first === undefined ? Infinity : skip + Number(first)]
}

/** The lines `inner` of the lines `outer`. */
function within(outer: LineRange, inner: LineRange): LineRange {
  const [start, end] = outer
  if (inner[0] < 0) return end === Infinity ? inner : [Math.max(start, end + inner[0] + 1), end]
  return [start + inner[0] - 1, Math.min(end, start + inner[1] - 1)]
}
