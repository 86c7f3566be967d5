/**
 * The history of files in the ledger: the changes with their reasons, and the text of a file at a turn.
 *
 * A state is rebuilt from whole reads, writes, edits and patches of the known file tools. It names its basis, and is
 * unknown rather than guessed. A turn is a call of the model, counted from 1.
 */
import { textOf } from '../model/leaves.ts'
import { replaceIn } from '../model/lists.ts'
import { normalizePath, sameFile } from '../model/paths.ts'
import { has, placeOf, splitBy } from '../model/search.ts'
import { amount } from '../model/text.ts'
import type { Message, ToolCallPart, ToolResultPart } from '../model/types.ts'
import { applyPatchTo, sectionsOf } from './patches.ts'
import { type CallInfo, describeCall, type ToolTable } from './tool-kinds.ts'
import { exitCode, stripLineNumbers } from './tool-output.ts'

export type Change = { turn: number; path: string; kind: 'write' | 'edit' | 'remove'; intent?: string }

export type FileState = {
  path: string
  turn: number
  content: string | undefined
  /** The sources of the answer, in order. */
  basis: string[]
}

/** A write from the journal, in addition to the calls. */
export type KnownWrite = {
  turn: number
  /** The replaced text; null if there was no file. */
  before: string | null
  /** The new text; null if the file was removed, undefined if it is not recorded. */
  after?: string | null
  how: string
  /** Whether a text is the one that the write left. */
  fits(content: string): boolean
}

type StateOptions = { tools?: ToolTable; writes?: readonly KnownWrite[] }

export type Step = { turn: number; call: ToolCallPart; info: CallInfo; result: ToolResultPart | undefined }

function* stepsOf(messages: Iterable<Message>, tools?: ToolTable): Generator<Step> {
  let turn = 0
  const open = new Map<string, Step>()
  for (const message of messages) {
    if (message.role === 'assistant') turn++
    for (const part of message.parts) {
      if (part.type === 'tool-call') {
        open.set(part.id, { turn, call: part, info: describeCall(part.name, part.input, tools), result: undefined })
      }
      if (part.type !== 'tool-result') continue
      const step = open.get(part.id)
      if (step) yield { ...step, result: part }
      open.delete(part.id)
    }
  }
  yield* open.values()
}

/** Every successful change to a file, with the agent's stated intent. */
export function changesIn(messages: Iterable<Message>, tools?: ToolTable): Change[] {
  const changes: Change[] = []
  for (const { turn, info, result } of stepsOf(messages, tools)) {
    if (failed(info, result)) continue
    const intent = info.intent?.trim() ? { intent: info.intent } : {}
    for (const [path, kind] of changedBy(info)) changes.push({ turn, path, kind, ...intent })
  }
  return changes
}

/** The changes as Markdown, one line each; changes to one file with one intent share a line. */
export function toChangelog(changes: readonly Change[]): string {
  const lines = new Map<string, number>()
  for (const { path, kind, intent } of changes) {
    const line = `- ${path}: ${intent?.replace(/\s+/g, ' ').trim() || DONE[kind]}`
    lines.set(line, (lines.get(line) ?? 0) + 1)
  }
  return [...lines].map(([line, times]) => (times > 1 ? `${line} (${times}×)` : line)).join('\n')
}

const DONE: Record<Change['kind'], string> = { write: 'written', edit: 'edited', remove: 'removed' }

export function fileStateAt(
  messages: Iterable<Message>,
  path: string,
  turn: number,
  { tools, writes = [] }: StateOptions = {},
): FileState {
  const steps = [...stepsOf(messages, tools)].filter(step => step.turn <= turn)
  return stateAfter(steps, path, { turn, writes: writes.filter(write => write.turn <= turn) })
}

type Known = { turn: number; writes: readonly KnownWrite[] }

/** The state of a file after some steps. A move needs the state of another file after fewer steps. */
function stateAfter(steps: readonly Step[], path: string, { turn, writes }: Known): FileState {
  const wanted = normalizePath(path)
  const state: FileState = { path, turn, content: undefined, basis: [] }
  const git: Git = { index: { why: NOT_STAGED }, head: { why: NOT_STAGED } }
  let runs = 0
  const take = (at: number, next: Next) => {
    state.content = next.content
    if (next.fresh) state.basis = []
    // File tools over MCP write between the calls of a model, or without any.
    state.basis.push(at === 0 ? next.how : `turn ${at}: ${next.how}`)
    runs = 0
  }
  let written = 0
  const takeWrites = (before: number) => {
    for (; written < writes.length && writes[written]!.turn < before; written++) {
      const write = writes[written]!
      take(write.turn, followJournal(state.content, write))
    }
  }
  for (const [i, step] of steps.entries()) {
    takeWrites(step.turn)
    if (isBlind(step.info)) runs++
    if (failed(step.info, step.result)) continue
    if (touches(step.info, wanted)) {
      const elsewhere = (other: string) => stateAfter(steps.slice(0, i), other, { turn, writes: [] }).content
      const next = follow(replacedBy(step, writes[written]) ?? state.content, step, wanted, { elsewhere, git })
      if (next) take(step.turn, next)
    } else followGit(git, step.info, { path: wanted, writes: 0, content: state.content })
  }
  takeWrites(Number.POSITIVE_INFINITY)
  state.basis.push(...doubtsAbout(state, { runs, hasCalls: steps.length > 0 }))
  return state
}

function doubtsAbout({ path, turn, content, basis }: FileState, told: { runs: number; hasCalls: boolean }): string[] {
  if (basis.length === 0) return [`no complete read, write or edit of ${path} up to turn ${turn}`]
  if (content === undefined) return []
  if (!told.hasCalls) return ['commands were not considered: the conversation is not in this session']
  return told.runs > 0 ? [`not considered: effects of ${amount(told.runs, 'command')} run since`] : []
}

/** The text that a call replaced, from the journal, even if nobody had read it. */
function replacedBy({ turn, info }: Step, write: KnownWrite | undefined): string | undefined {
  return write?.turn === turn && CHANGING.has(info.kind) ? (write.before ?? undefined) : undefined
}

/** The effect of a journal's write; `content` is the new text according to its call. */
function followJournal(content: string | undefined, { after, how, fits }: KnownWrite): Next {
  if (after !== undefined) return { content: after ?? undefined, how, fresh: true }
  if (content !== undefined && fits(content)) return { content, how }
  return { content: undefined, how: 'written; the ledger has only the hash of the text' }
}

type Next = { content: string | undefined; how: string; fresh?: boolean }

/** The effect of one step on the content; `undefined` if it has none. */
function follow(
  content: string | undefined,
  { call, info, result }: Step,
  path: string,
  around: Around,
): Next | undefined {
  if (info.kind === 'read' || info.kind === 'shell-read') return followRead(info, result)
  if (info.writes?.some(write => sameFile(write.path, path))) return followShell(content, info, path, around)
  if (info.patch !== undefined) {
    if (patchKinds(info.patch).get(path) === 'remove')
      return { content: undefined, how: 'removed by a patch', fresh: true }
    const patched = applyPatchTo(info.patch, path, content)
    return { content: patched, how: patched === undefined ? 'changed by a patch that cannot be applied' : 'patched' }
  }
  if (info.edits) return followEdits(content, info.edits)
  if (info.content !== undefined && info.how === undefined)
    return { content: info.content, how: `written by ${call.name}`, fresh: true }
  if (info.content === undefined && !CHANGING.has(info.kind)) return undefined
  return (
    followAddition(content, info) ?? {
      content: undefined,
      how: `changed by ${call.name}, in an unknown way`,
    }
  )
}

function followAddition(content: string | undefined, { how, content: added, range }: CallInfo): Next | undefined {
  if (added === undefined) return undefined
  if (how === 'append') return { content: content === undefined ? undefined : content + added, how: 'appended' }
  if (how === 'prepend') return { content: content === undefined ? undefined : added + content, how: 'prepended' }
  if (how !== 'insert' || content === undefined || !range) return undefined
  return { content: inserted(content, added, range[0]), how: 'inserted' }
}

const CHANGING: ReadonlySet<string> = new Set(['write', 'edit', 'shell-write'])

/** Inserts whole lines after a line; after line 0 means at the beginning. */
function inserted(content: string, text: string, line: number): string {
  const lines = content.split('\n')
  replaceIn(lines, { at: line, remove: 0, insert: text.replace(/\n$/, '').split('\n') })
  return lines.join('\n')
}

function followRead(info: CallInfo, result: ToolResultPart | undefined): Next | undefined {
  if (!result || info.query || (info.paths?.length ?? 1) > 1) return undefined
  const [start = 1, end = Infinity] = info.range ?? []
  if (start !== 1 || end !== Infinity) return undefined
  const output = info.kind === 'read' ? textOf(result) : commandOutput(textOf(result))
  const content = readContent(output)
  return content === undefined ? undefined : { content, how: 'read', fresh: true }
}

/** How read tools say that they did not show the whole file. */
const PARTIAL =
  /more lines (?:above|below)|\(?file has more lines|truncated|showing (?:only )?lines \d+|use (?:the )?['"`]?offset|lines? \d+-\d+ of \d+/i

/**
 * The file's text from a read tool's output, without line numbers and the tool's own words; `undefined` if it is
 * partial.
 */
function readContent(output: string): string | undefined {
  const lines = output.split('\n')
  const plain = stripLineNumbers(output).split('\n')
  const first = lines.findIndex((line, i) => line !== plain[i])
  if (first < 0) return saysPartial(output) ? undefined : output
  const last = lines.findLastIndex((line, i) => line !== plain[i])
  const around = [...lines.slice(0, first), ...lines.slice(last + 1)].join('\n')
  if (PARTIAL.test(around) || Number.parseInt(lines[first]!.trim(), 10) !== 1) return undefined
  return plain.slice(first, last + 1).join('\n')
}

/** Without line numbers, only a last line in brackets can be from the tool. */
function saysPartial(output: string): boolean {
  const last = output.slice(-400).trimEnd().split('\n').at(-1)!
  return /^\s*(?:[[(<…]|\.\.\.)/.test(last) && PARTIAL.test(last)
}

/** The output of a command, without the lines in which agents report how it ended. */
function commandOutput(text: string): string {
  const tagged = /^<returncode>[^<]*<\/returncode>\s*<output>\n?(.*?)<\/output>\s*$/s.exec(text)
  if (tagged) return tagged[1]!
  const lines = text.split('\n')
  const body = lines.slice(0, 6).indexOf('Output:')
  const from = body >= 0 && exitCode(lines.slice(0, body).join('\n')) !== undefined ? body + 1 : 0
  const to = exitCode(lines.at(-1)!) === undefined ? lines.length : lines.length - 1
  return lines.slice(from, to).join('\n')
}

/** Sources from which a command may take a file: other files, git's index and HEAD. */
type Around = { elsewhere: (path: string) => string | undefined; git: Git }

/** The effect of one command line on a file. */
function followShell(before: string | undefined, info: CallInfo, path: string, around: Around): Next | undefined {
  let last: Next | undefined
  let content = before
  let isFresh = false
  for (const [i, write] of (info.writes ?? []).entries()) {
    followGit(around.git, info, { path, writes: i, content })
    if (write.kept || !sameFile(write.path, path)) continue
    last = followShellWrite(content, write, around)
    content = last.content
    isFresh ||= last.fresh === true
  }
  followGit(around.git, info, { path, writes: info.writes?.length ?? 0, content })
  return last && { ...last, ...(isFresh ? { fresh: true } : {}) }
}

/** The text that git would restore, or why it is unknown. */
type Kept = { content: string } | { why: string }
type Git = { index: Kept; head: Kept }

const NOT_STAGED = 'the ledger has no git add or git commit for it'

/** Applies git's effects that follow the first `writes` writes of a command line; `content` is the file's text then. */
function followGit(git: Git, info: CallInfo, at: { path: string; writes: number; content: string | undefined }): void {
  const now: Kept =
    at.content === undefined ? { why: 'its content when it was staged is not known' } : { content: at.content }
  for (const effect of info.git ?? []) {
    if (effect.after !== at.writes) continue
    if (effect.type === 'unsure') {
      git.index = { why: `${effect.command} may have changed what is staged` }
      git.head = { why: `${effect.command} may have changed what is committed` }
    } else if (effect.type === 'commit') {
      if (effect.all) git.index = now
      git.head = git.index
    } else if (effect.paths === 'all' || effect.paths.some(path => sameFile(path, at.path) || isUnder(path, at.path))) {
      git.index = now
    }
  }
}

function isUnder(folder: string, path: string): boolean {
  return path.startsWith(`${folder}/`)
}

function followShellWrite(
  content: string | undefined,
  write: NonNullable<CallInfo['writes']>[number],
  { elsewhere, git }: Around,
): Next {
  if (write.removed) return { content: undefined, how: 'removed by a command', fresh: true }
  if (write.substitute) {
    if (content === undefined) return { content, how: 'changed by sed; the content before is not known' }
    return { content: substituted(content, write.substitute), how: 'changed by sed' }
  }
  if (write.from !== undefined) {
    const text = elsewhere(write.from)
    return { content: text, how: `${text === undefined ? 'replaced by' : 'the content of'} ${write.from}`, fresh: true }
  }
  if (write.restored) return broughtBack(write.restored === 'HEAD' ? git.head : git.index)
  if (write.content === undefined)
    return { content: undefined, how: 'written by a command; the text is not in the ledger' }
  if (write.append)
    return { content: content === undefined ? undefined : content + write.content, how: 'appended by a command' }
  return { content: write.content, how: 'written by a command', fresh: true }
}

function broughtBack(kept: Kept): Next {
  if ('why' in kept) return { content: undefined, how: `restored by git, with unknown content: ${kept.why}` }
  return { content: kept.content, how: 'restored by git, as staged or committed in this session', fresh: true }
}

/** As `sed` does: line by line, the first occurrence or all. */
function substituted(content: string, replacement: Replacement): string {
  return content
    .split('\n')
    .map(line => replaced(line, replacement))
    .join('\n')
}

type Replacement = { old: string; new: string; all?: boolean | undefined }

/** The text with the first occurrence replaced, or all of them. */
function replaced(text: string, { old, new: instead, all }: Replacement): string {
  if (all) return splitBy(text, old).join(instead)
  const at = placeOf(text, old)
  return at < 0 ? text : text.slice(0, at) + instead + text.slice(at + old.length)
}

function followEdits(content: string | undefined, edits: NonNullable<CallInfo['edits']>): Next {
  const [only] = edits
  if (edits.length === 1 && only!.oldText === '' && !content) {
    return { content: only!.newText, how: 'created by an edit', fresh: true }
  }
  let text = content
  for (const { oldText, newText, all } of edits) {
    if (text === undefined) return { content: undefined, how: 'edited; the content before is not known' }
    if (oldText === '' || !has(text, oldText))
      return { content: undefined, how: 'edited; the text to replace was not found' }
    text = replaced(text, { old: oldText, new: newText, all })
  }
  return { content: text, how: 'edited' }
}

function touches(info: CallInfo, path: string): boolean {
  const paths = [...(info.paths ?? []), ...(info.writes ?? []).map(write => write.path)]
  return paths.some(other => sameFile(other, path))
}

/** Whether a command may have changed files that it does not name. */
function isBlind({ kind, paths = [], writes = [] }: CallInfo): boolean {
  return kind === 'shell' || (kind === 'shell-write' && paths.length + writes.length === 0)
}

/** The files that a call changed, each with what was done to it last. */
function changedBy({ kind, paths = [], writes = [], patch }: CallInfo): Map<string, Change['kind']> {
  const patched = patchKinds(patch ?? '')
  const unchanged = new Set(writes.flatMap(({ path, kept }) => (kept ? path : [])))
  const own = CHANGING.has(kind) ? paths.filter(path => !unchanged.has(path)) : []
  return new Map([
    ...own.map(path => [path, patched.get(path) ?? (kind === 'write' ? 'write' : 'edit')] as const),
    ...writes.flatMap(write => (write.kept ? [] : [[write.path, writeKind(write)] as const])),
  ])
}

function writeKind({ removed, substitute, append }: NonNullable<CallInfo['writes']>[number]): Change['kind'] {
  if (removed) return 'remove'
  return substitute || append ? 'edit' : 'write'
}

const PATCH_KINDS = { add: 'write', update: 'edit', delete: 'remove' } as const

function patchKinds(patch: string): Map<string, Change['kind']> {
  return new Map(sectionsOf(patch).map(({ path, kind }) => [path, PATCH_KINDS[kind]]))
}

/** A call without a result, or with a failed one, made no reliable change. */
function failed(info: CallInfo, result: ToolResultPart | undefined): boolean {
  if (!result || result.isError) return true
  const text = textOf(result)
  if (info.kind.startsWith('shell')) return (exitCode(text) ?? 0) !== 0
  return text.length < 500 && SAYS_FAILED.test(text)
}

/** Some agents have no error flag: a short answer that begins like an error is one. */
const SAYS_FAILED =
  /^\s*(?:<tool_use_error>|\W{0,2}(?:error|failed|failure|exception|could not|cannot|can't|unable to|no such file|permission denied|file not found|invalid)\b)/i
