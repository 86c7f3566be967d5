/**
 * What a provider accepts, as named rules over neutral messages.
 *
 * `checkView` checks messages that are about to be sent; `checkEdit` checks what a single edit does to its target. An
 * illegal view is never sent. Rules are local to a step (an assistant message and the results after it), so a view is
 * checked from the step before its first change, not from its beginning.
 */
import { isRecord } from '../model/json.ts'
import { leavesOf } from '../model/leaves.ts'
import type { Dialect, Edit, Message, Part, ToolCallPart, ToolResultPart } from '../model/types.ts'

/** Each rule with its sentence. The names are stable: reports, docs and tests use them. */
export const RULES = {
  'call-without-result': 'Every tool call has a result directly after its message.',
  'result-without-call': 'A tool result answers a call of the assistant message directly before it.',
  'two-results': 'A tool call has one result, not two.',
  'duplicate-call': 'Two tool calls do not share an id.',
  'empty-message': 'A message has at least one part.',
  'blank-text': 'A text is not empty or blank.',
  'opaque-edited': 'Server tools, compaction and other opaque blocks are sent back unchanged.',
  'reasoning-altered': 'A reasoning block is sent back byte for byte, or left out.',
  'running-reasoning': 'The assistant message that is being answered keeps its reasoning and its other parts.',
  'loop-without-reasoning': 'A running tool loop keeps the reasoning that it began with.',
  'reasoning-pair':
    'A function call is sent with the reasoning item that belongs to it, and a reasoning item with what it led to.',
  'bound-reasoning':
    'On models that bind reasoning to the text before it, reasoning after a change is left out and never put back.',
  'signed-altered': 'A tool call with a signature of the provider is sent back byte for byte.',
  'call-comes-first': 'A conversation does not begin with a tool call.',
  'answer-comes-first': 'A conversation that the user began does not begin with an answer.',
  'nothing-left': 'After the system prompt, a conversation keeps at least one message.',
  'call-dropped': 'A tool call may be shortened, but not dropped or turned into text.',
  'result-dropped': 'A tool result may be shortened, but not dropped.',
  'invalid-unicode': 'Texts are valid Unicode, without lone surrogates.',
  'edit-refused': 'A planned edit that the session refuses is left out.',
  'file-not-kept': 'A file that an edit points to is kept before the edit is made.',
  'too-many-bytes': 'The request stays under the size limit of the provider.',
} as const

export type Rule = keyof typeof RULES

export type Violation = { rule: Rule; message: string; index?: number; ids?: string[] }

export type CheckOptions = {
  dialect?: Dialect
  /** Check from the step before this message on. Earlier messages are known to be legal, except the `changed` ones. */
  from?: number
  /** Stretches of changed messages in order (`to` is exclusive). They are checked together with the adjacent steps. */
  changed?: readonly Stretch[]
  /** Who speaks first in the conversation itself, after the system prompt; undefined if nobody does. */
  began?: Message['role'] | undefined
  /** The calls that may still wait for a result; by default all calls of the last step. */
  open?: readonly string[]
  /**
   * Messages whose texts have passed the check, and for which dialect. A caller that gives this must never change a
   * message.
   */
  checked?: WeakMap<Message, Dialect | 'any'>
}

export type Stretch = { from: number; to: number }

/** The rules that a list of messages breaks. Calls of the last step that still wait for results are legal. */
export function checkView(messages: readonly Message[], options: CheckOptions = {}): Violation[] {
  const { from = 0, changed = [] } = options
  const found = [...checkBeginning(messages, options)]
  const calls = new Set<string>()
  let done = 0
  for (const stretch of [...changed.filter(one => one.from < from), { from, to: messages.length }]) {
    done = checkSteps(
      messages,
      { from: Math.max(done, stepStart(messages, stretch.from - 1)), to: stretch.to },
      { calls, found, options },
    )
  }
  return found
}

/** The first message that a check must look at. */
export function firstUnchecked(messages: readonly Message[], { from = 0, changed = [] }: CheckOptions): number {
  return stepStart(messages, Math.min(from, changed[0]?.from ?? from) - 1)
}

type Check = { calls: Set<string>; found: Violation[]; options: CheckOptions }

/** Checks the steps of a stretch, and the step or the results after it; returns the index after them. */
function checkSteps(messages: readonly Message[], { from, to }: Stretch, check: Check): number {
  const { found, options } = check
  let i = from
  while (i < messages.length && (i <= to || messages[i]!.role === 'tool')) {
    const message = messages[i]!
    checkShape(message, i, options, found)
    if (message.role !== 'assistant') {
      for (const part of message.parts) if (part.type === 'tool-result') found.push(stray(part, i))
      i++
      continue
    }
    i = checkStep(messages, i, check)
  }
  return i
}

/**
 * What is wrong with the beginning. What the conversation itself lacks, an edit cannot have removed. Anthropic's own API
 * takes an answer as the first message; Amazon Bedrock and other services with the same models refuse it.
 */
export function checkBeginning(messages: readonly Message[], { dialect, began }: CheckOptions): Violation[] {
  const first = firstSpoken(messages)
  if (first < 0) return began === undefined ? [] : [violation('nothing-left', 'no message would be left')]
  if (dialect === 'gemini' && beginsWithCall(messages, first)) {
    return [violation('call-comes-first', `message ${first} makes a call, and nobody has said anything yet`, first)]
  }
  if (dialect !== 'anthropic' || began !== 'user' || messages[first]!.role !== 'assistant') return []
  return [violation('answer-comes-first', `message ${first} is an answer, and the user has said nothing yet`, first)]
}

/** Providers also limit the bytes of a request, whatever its tokens. */
export function checkSize(bytes: number, maxBytes: number): Violation[] {
  if (bytes <= maxBytes) return []
  return [violation('too-many-bytes', `the messages have ${bytes} bytes; the provider takes ${maxBytes}`)]
}

/** The ids of calls at the end of the messages that still wait for their results. */
export function waitingCalls(messages: readonly Message[]): string[] {
  let i = messages.length - 1
  const answered = new Set<string>()
  for (; messages[i]?.role === 'tool'; i--) for (const { id } of resultsIn(messages[i]!)) answered.add(id)
  const end = i + 1
  while (messages[i]?.role === 'assistant') i--
  const open: string[] = []
  for (const { parts } of messages.slice(i + 1, end)) {
    for (const part of parts) if (part.type === 'tool-call' && !answered.has(part.id)) open.push(part.id)
  }
  return open
}

/**
 * The first message of the step that includes the message at `index`: an assistant message, or a message outside any
 * step.
 */
export function stepStart(messages: readonly Message[], index: number): number {
  let i = Math.max(0, Math.min(index, messages.length - 1))
  while (i > 0 && messages[i]!.role === 'tool') i--
  while (i > 0 && messages[i]!.role === 'assistant' && messages[i - 1]!.role === 'assistant') i--
  return i
}

/**
 * Whether the answers at the beginning make a call: Gemini requires a user message or a function response before every
 * call, and answers in a row are one.
 */
function beginsWithCall(messages: readonly Message[], first: number): boolean {
  for (let i = first; messages[i]?.role === 'assistant'; i++) if (callsIn(messages[i]!).length > 0) return true
  return false
}

/** Who speaks first after the system prompt. */
export function firstSpeaker(messages: readonly Pick<Message, 'role'>[]): Message['role'] | undefined {
  return messages[firstSpoken(messages)]?.role
}

/** The first message after the system prompt; −1 if there is none. */
export function firstSpoken(messages: readonly Pick<Message, 'role'>[]): number {
  return messages.findIndex(({ role }) => role !== 'system')
}

/** Checks one assistant message (or several in a row) with the results after it; returns the index after them. */
function checkStep(messages: readonly Message[], start: number, { calls, found, options }: Check): number {
  const open = new Set<string>()
  let i = start
  for (; messages[i]?.role === 'assistant'; i++) {
    if (i > start) checkShape(messages[i]!, i, options, found)
    for (const part of messages[i]!.parts) {
      if (part.type !== 'tool-call') continue
      const { id } = part
      if (calls.has(id)) found.push(violation('duplicate-call', `call ${id} occurs twice`, i, [id]))
      calls.add(id)
      open.add(id)
    }
  }
  const answered = new Set<string>()
  for (; messages[i]?.role === 'tool'; i++) {
    checkShape(messages[i]!, i, options, found)
    checkResults(messages[i]!, i, { open, answered, found })
  }
  const unanswered = [...open].filter(id => !answered.has(id) && (i < messages.length || !mayWait(id, options)))
  if (unanswered.length > 0) {
    found.push(violation('call-without-result', `no result for ${unanswered.join(', ')}`, start, unanswered))
  }
  return i
}

function checkResults(
  message: Message,
  index: number,
  { open, answered, found }: { open: ReadonlySet<string>; answered: Set<string>; found: Violation[] },
): void {
  for (const result of message.parts) {
    if (result.type !== 'tool-result') continue
    const { id } = result
    if (answered.has(id)) found.push(violation('two-results', `call ${id} has two results`, index, [id]))
    else if (!open.has(id)) found.push(stray(result, index))
    answered.add(id)
  }
}

/** Whether a call of the last step may be without a result. */
export function mayWait(id: string, { open }: CheckOptions): boolean {
  return open === undefined || open.includes(id)
}

function checkShape(message: Message, index: number, { dialect, checked }: CheckOptions, found: Violation[]): void {
  if (checked?.get(message) === (dialect ?? 'any')) return
  const before = found.length
  if (message.parts.length === 0) found.push(violation('empty-message', `message ${index} has no parts`, index))
  if (!message.parts.every(isWellFormed)) {
    found.push(violation('invalid-unicode', `message ${index} is not valid Unicode`, index))
  }
  if (hangingIn(message, dialect).length > 0) {
    found.push(violation('reasoning-pair', `message ${index} has reasoning that leads to nothing`, index))
  }
  for (const _ of blanksIn(message, dialect))
    found.push(violation('blank-text', `message ${index} has a blank text`, index))
  if (found.length === before) checked?.set(message, dialect ?? 'any')
}

/** Whether the texts of a part have no lone surrogates. */
export function isWellFormed(part: Part): boolean {
  return leavesOf(part).every(text => text.isWellFormed())
}

/**
 * The texts that make a message illegal: at Anthropic each blank one. Other adapters leave out a text that an edit has
 * emptied, so a message that has nothing else would be missing from the request.
 */
export function blanksIn({ parts }: Message, dialect: Dialect | undefined): Part[] {
  if (dialect === 'anthropic') return parts.filter(isBlankPart)
  return dialect !== undefined && parts.every(part => isEmptied(part, dialect)) ? [...parts] : []
}

function isEmptied(part: Part, dialect: Dialect): boolean {
  if (part.type !== 'text' || part.edit === undefined) return false
  return dialect === 'gemini' ? isBlankPart(part) : part.text === ''
}

/** The providers that refuse an answer that is nothing but reasoning. */
function refusesBareReasoning(dialect: Dialect | undefined): dialect is 'openai-responses' | 'openai-chat' {
  return dialect === 'openai-responses' || dialect === 'openai-chat'
}

/** The texts that an edit has emptied, if reasoning led to them and nothing else of its result is left. */
export function hangingIn({ role, parts }: Message, dialect: Dialect | undefined): Part[] {
  if (role !== 'assistant' || !refusesBareReasoning(dialect)) return []
  return parts.filter((part, i) => {
    if (!isEmptied(part, dialect) || parts[i - 1]?.type !== 'reasoning') return false
    const next = parts.slice(i).find(other => !isEmptied(other, dialect))
    return next === undefined || next.type === 'reasoning'
  })
}

/** A text that Anthropic refuses. */
export function isBlankPart(part: Part): boolean {
  return part.type === 'text' && part.text.trim() === ''
}

export type EditScope = {
  entry: number
  role: Message['role']
  part: Part
  /** Whether the entry is the assistant message that is being answered now. */
  latest: boolean
  /** Whether the entry belongs to the turn that is running: since the last user message. */
  running: boolean
  /** Whether the entry has reasoning beside the part. */
  reasons: boolean
  /** Whether reasoning led to the part and to nothing else that is shown. */
  isLedTo: boolean
}

/** The rule that an edit of one part breaks by itself, if any. */
export function checkEdit(edit: Edit, scope: EditScope, dialect?: Dialect): Violation | undefined {
  const { part, entry } = scope
  const { replacement } = edit
  const name = `edit ${edit.id} of entry ${entry}`
  if (part.type === 'raw') return violation('opaque-edited', `${name} would change an opaque block`)
  const forgets = part.type === 'reasoning' && replacement === null && !scope.running
  if (scope.latest && scope.reasons && !forgets) {
    return violation('running-reasoning', `${name} would change the message that is being answered`)
  }
  if (replacement === null && scope.isLedTo && refusesBareReasoning(dialect)) {
    return violation('reasoning-pair', `${name} would drop everything that the reasoning beside it led to`)
  }
  if (part.type === 'reasoning') return checkReasoning(replacement, name, scope, dialect)
  if (part.type === 'tool-call') return checkCall(edit, name, part)
  if (part.type === 'tool-result' && replacement === null) {
    return violation('result-dropped', `${name} would drop a tool result`)
  }
  return undefined
}

function checkCall(edit: Edit, name: string, call: ToolCallPart): Violation | undefined {
  if (isSigned(call)) return violation('signed-altered', `${name} would change a call that the provider has signed`)
  return keepsCall(edit) ? undefined : violation('call-dropped', `${name} would drop a tool call`)
}

function checkReasoning(
  replacement: Edit['replacement'],
  name: string,
  { running }: EditScope,
  dialect: Dialect | undefined,
): Violation | undefined {
  if (replacement !== null) return violation('reasoning-altered', `${name} would rewrite a reasoning block`)
  if (running) return violation('running-reasoning', `${name} would drop reasoning of the running turn`)
  if (dialect !== 'openai-responses') return undefined
  return violation('reasoning-pair', `${name} would drop reasoning and keep the calls made with it`)
}

/** Gemini signs calls with what it thought before them, and wants both back together. */
export function isSigned({ original }: Part): boolean {
  if (original?.dialect !== 'gemini') return false
  const { value } = original
  return isRecord(value) && ('thoughtSignature' in value || 'thought_signature' in value)
}

function keepsCall({ target, replacement }: Edit): boolean {
  if (replacement === null) return false
  if (target.type === 'part' && target.leaf !== undefined) return typeof replacement === 'string'
  return typeof replacement === 'object' && 'input' in replacement
}

export function callsIn(message: Message): ToolCallPart[] {
  return message.parts.filter(part => part.type === 'tool-call')
}

export function resultsIn(message: Message): ToolResultPart[] {
  return message.parts.filter(part => part.type === 'tool-result')
}

function stray(result: ToolResultPart, index: number): Violation {
  return violation('result-without-call', `result ${result.id} answers no call of the message before it`, index, [
    result.id,
  ])
}

export function violation(rule: Rule, message: string, index?: number, ids?: string[]): Violation {
  return { rule, message, ...(index === undefined ? {} : { index }), ...(ids ? { ids } : {}) }
}
