/**
 * An Anthropic that checks, as a script for upstream.ts: it signs thinking with a hash of what came before it and
 * refuses what Anthropic refuses (by the model and the age of the account), caches at marked positions only, looks
 * back 20 blocks from each mark, clears results and thinking as it is told to, and bills.
 */
import type { Received, Turn } from '../upstream.ts'
import {
  type Bill,
  type Block,
  charge,
  emptyBill,
  hashOf,
  holds,
  opened,
  PRICES,
  PrefixCache,
  type Seal,
  sealed,
  sizeOf,
  sorted,
} from './billing.ts'

// biome-ignore lint/suspicious/noExplicitAny: requests of many shapes
type Json = any

export type Account = {
  /** Accounts created since 31 August 2026 refuse thinking that does not fit; older ones allow it. */
  age?: 'new' | 'old'
  /** Names of betas that a platform accepts; it refuses all others. */
  betas?: readonly string[]
  clock?: () => number
}

export type CheckingAnthropic = {
  script: (received: Received, index: number) => Turn
  count: (received: Received) => { status: number; body: unknown }
  bill: Bill
  /** The messages of refusals. */
  refusals: string[]
  /** The numbers of thinking blocks that did not fit but were allowed, and that were dropped. */
  allowed: number
  dropped: number
  /** The numbers of thinking blocks received and shown to the model. */
  shown: number
}

const CONTROLS = 'thinking-binding-controls-2026-08-01'
const MANAGEMENT = 'context-management-2025-06-27'
const CLEAR_USES = 'clear_tool_uses_20250919'
const CLEAR_THINKING = 'clear_thinking_20251015'
const LOOK_BACK = 20
const MOST_MARKS = 4
const MINIMUM = 512
const MINUTE = 60_000

const BINDS = /^claude-(?:fable-5-[12]|mythos-5-[12]|opus-5-5|sonnet-5-5|haiku-5-5)/
const ALWAYS_REFUSES = /^claude-(?:fable-5-2|mythos-5-[12])/

class Refused extends Error {}

type Outcome = 'keep' | 'drop' | 'allow' | 'unreadable'

/** `answer` gives the model's answer; its thinking is signed here. */
export function checkingAnthropic(
  answer: (received: Received, index: number) => Turn,
  account: Account = {},
): CheckingAnthropic {
  const clock = account.clock ?? Date.now
  const cache = new PrefixCache(clock)
  const sent = new Map<string, Prompt>()
  let made = 0
  const it: CheckingAnthropic = { script, count, bill: emptyBill(), refusals: [], allowed: 0, dropped: 0, shown: 0 }
  return it

  function script(received: Received, index: number): Turn {
    const checked = guarded(received)
    if ('error' in checked) return checked
    const turn = answer(received, index)
    if (turn.error) return turn
    const { json } = received
    const { prompt, report } = checked
    const { applied, blocks } = applyEdits(json, prompt.blocks)
    const used = readAndWrite(cache, json, blocks)
    const thoughts = (turn.thinking ? [turn.thinking].flat() : []).map(thought => ({ ...thought, id: `t${made++}` }))
    const run = thoughts.map(({ id }) => id)
    const thinking = thoughts.map(({ id, ...thought }, at) => {
      const seal: Seal = {
        id,
        model: json.model,
        prefix: prompt.prefix,
        before: [...prompt.thoughts, ...run.slice(0, at)],
        run,
        tokens: sizeOf(thought.text),
      }
      return { ...thought, signature: sealed(seal) }
    })
    const reasoning = thoughts.reduce((sum, { text }) => sum + sizeOf(text), 0)
    const output = reasoning + sizeOf([turn.text ?? '', turn.calls ?? []])
    charge(it.bill, { ...used, output }, priceOf(json.model))
    const previous = json.diagnostics?.previous_message_id
    const diagnosis =
      json.diagnostics === undefined ? {} : { diagnostics: diagnose(previous, sent.get(previous), prompt) }
    sent.set(`msg_${index}`, prompt)
    const more = {
      ...diagnosis,
      ...(hasBeta(received, CONTROLS) ? { input_transformations: report } : {}),
      ...(applied ? { context_management: { applied_edits: applied } } : {}),
    }
    return {
      ...turn,
      ...(thinking.length > 0 ? { thinking } : {}),
      usage: { ...used, output, reasoning },
      more: { ...more, ...turn.more },
    }
  }

  function count(received: Received) {
    const checked = guarded(received)
    if ('error' in checked) return checked.error
    const { blocks } = checked.prompt
    const { applied, blocks: left } = applyEdits(received.json, blocks)
    const more = applied ? { context_management: { original_input_tokens: tokensIn(blocks) } } : {}
    return { status: 200, body: { input_tokens: tokensIn(left), ...more } }
  }

  function guarded(received: Received): { error: NonNullable<Turn['error']> } | ReturnType<typeof check> {
    try {
      return check(received)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      it.refusals.push(error.message)
      const body = { type: 'error', error: { type: 'invalid_request_error', message: error.message } }
      return { error: { status: 400, body } }
    }
  }

  function check(received: Received) {
    const { json } = received
    checkBetas(received, account)
    checkThinking(json, hasBeta(received, CONTROLS))
    checkEdits(json, hasBeta(received, MANAGEMENT))
    checkMarks(json)
    checkTools(json)
    const prompt = startOf(json)
    const report: Json[] = []
    let dropping = false
    const newest = json.messages.findLastIndex((message: Json) => message.role === 'assistant')
    for (const [i, message] of json.messages.entries()) {
      if (i === newest) checkRun(blocksOf(message.content), i)
      for (const [j, block] of blocksOf(message.content).entries()) {
        if (block.type !== 'thinking' && block.type !== 'redacted_thinking') {
          prompt.take(message.role, block)
          continue
        }
        const path = `messages.${i}.content.${j}`
        const outcome: Outcome = dropping ? 'drop' : judge(json, block, prompt, path, hasBeta(received, CONTROLS))
        dropping ||= outcome === 'drop'
        if (outcome === 'drop') it.dropped++
        if (outcome === 'drop') report.push({ type: 'thinking_dropped', path, reason: 'prefix_binding_mismatch' })
        if (outcome === 'allow') it.allowed++
        if (outcome === 'allow')
          report.push({ type: 'thinking_mismatch_allowed', path, reason: 'prefix_binding_mismatch' })
        if (outcome === 'drop' || outcome === 'unreadable') continue
        it.shown++
        prompt.think(block, i)
      }
    }
    return { prompt, report }
  }

  function judge(json: Json, block: Json, prompt: Prompt, path: string, withControls: boolean): Outcome {
    const seal = opened(block.signature ?? block.data)
    if (!seal) throw new Refused(`${path}: Invalid \`signature\` in \`thinking\` block.`)
    if (familyOf(seal.model) !== familyOf(json.model)) return 'unreadable'
    if (!BINDS.test(json.model) || holds(seal, { prefix: prompt.prefix, before: prompt.thoughts })) return 'keep'
    const asked = json.thinking?.block_binding?.prefix_mismatch_behavior
    if (asked === 'drop_block') return 'drop'
    if (asked === undefined && account.age === 'old' && !ALWAYS_REFUSES.test(json.model)) return 'allow'
    const hint = withControls ? '' : ` This requires the \`${CONTROLS}\` beta header.`
    throw new Refused(
      `${path}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".${hint}`,
    )
  }
}

/** `lifetime`: of the mark on it. `own`: its own content. `turn`: the message, for thinking. */
type Placed = Block & { own: Json; lifetime?: number; turn?: number }

/** A prompt, read block by block. */
class Prompt {
  readonly blocks: Placed[] = []
  readonly thoughts: string[] = []
  /** The hash of everything except thinking. */
  prefix: string
  /** The hash of everything, which the cache uses. */
  #all: string
  readonly model: string
  readonly tools: string
  readonly system: string

  constructor(model: string, tools: Json[], system: Json[], rest: unknown) {
    this.model = model
    this.tools = hashOf(sorted(tools.map(unmarked)))
    this.system = hashOf(sorted(system.map(unmarked)))
    this.#all = hashOf(model)
    for (const block of [...tools, ...system]) this.#add(block, sizeOf(unmarked(block)))
    this.#all = hashOf(this.#all, rest)
    this.prefix = hashOf(this.tools, this.system)
  }

  take(role: string, block: Json): void {
    this.prefix = hashOf(this.prefix, role, sorted(unmarked(block)))
    this.#add(block, sizeOf(unmarked(block)))
  }

  think(block: Json, turn: number): void {
    const seal = opened(block.signature ?? block.data)!
    this.thoughts.push(seal.id)
    this.#add(block, seal.tokens, { turn })
  }

  #add(block: Json, tokens: number, more: { turn?: number } = {}): void {
    const own = unmarked(block)
    this.#all = hashOf(this.#all, own)
    const mark = block.cache_control
    const lifetime = mark ? { lifetime: lifetimeOf(mark) } : {}
    this.blocks.push({ hash: this.#all, tokens, own, ...lifetime, ...more })
  }
}

function startOf({ model, tools = [], system, thinking, tool_choice }: Json): Prompt {
  const loaded = tools.filter((tool: Json) => tool.defer_loading !== true)
  return new Prompt(model, loaded, blocksOf(system), [thinking?.type ?? 'adaptive', tool_choice])
}

function blocksOf(content: Json): Json[] {
  if (content === undefined) return []
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Without cache marks, and with a result's only text as a string. */
function unmarked(block: Json): Json {
  const { cache_control: _, ...rest } = block
  const [only, ...more] = Array.isArray(rest.content) ? rest.content : []
  return only?.type === 'text' && more.length === 0 ? { ...rest, content: only.text } : rest
}

function lifetimeOf({ ttl }: Json): number {
  return ttl === '1h' ? 60 * MINUTE : 5 * MINUTE
}

function readAndWrite(cache: PrefixCache, json: Json, all: readonly Placed[]) {
  const blocks = all.map(block => ({ ...block }))
  if (json.cache_control && blocks.length > 0) blocks.at(-1)!.lifetime ??= lifetimeOf(json.cache_control)
  const ends: number[] = []
  for (const { tokens } of blocks) ends.push((ends.at(-1) ?? 0) + tokens)
  const marks = blocks.flatMap(({ lifetime }, at) => (lifetime === undefined ? [] : [{ at, lifetime }]))
  let hit = -1
  for (const { at } of marks) {
    for (let back = at; back > at - LOOK_BACK && back > hit; back--) {
      if (ends[back]! >= MINIMUM && cache.read(blocks[back]!.hash)) hit = back
    }
  }
  for (const { at, lifetime } of marks) if (ends[at]! >= MINIMUM) cache.write(blocks[at]!.hash, lifetime)
  const upTo = (at: number) => (at < 0 || ends[at]! < MINIMUM ? 0 : ends[at]!)
  const read = upTo(hit)
  const long = Math.max(read, upTo(marks.findLast(({ lifetime }) => lifetime > 5 * MINUTE)?.at ?? -1))
  const written = Math.max(long, upTo(marks.at(-1)?.at ?? -1))
  return {
    cacheRead: read,
    cacheWrite: written - read,
    cacheWriteLong: long - read,
    input: (ends.at(-1) ?? 0) - written,
  }
}

function priceOf(model: string) {
  const price = PRICES[model.replace(/-\d{8}$/, '')]
  if (!price) throw new Error(`no price for ${model}`)
  return price
}

function hasBeta({ headers }: Received, name: string): boolean {
  return betasIn(headers).includes(name)
}

function betasIn(headers: Received['headers']): string[] {
  return String(headers['anthropic-beta'] ?? '')
    .split(',')
    .map(beta => beta.trim())
    .filter(beta => beta !== '')
}

function checkBetas({ headers }: Received, { betas }: Account): void {
  const unknown = betas ? betasIn(headers).filter(beta => !betas.includes(beta)) : []
  if (unknown.length > 0)
    throw new Refused(`Unexpected value(s) \`${unknown.join('`, `')}\` for the \`anthropic-beta\` header.`)
}

function checkThinking({ model, thinking }: Json, withControls: boolean): void {
  const binding = thinking?.block_binding
  if (binding && !withControls) throw new Refused('thinking.adaptive.block_binding: Extra inputs are not permitted')
  if (binding && !['adaptive', 'enabled'].includes(thinking.type)) {
    throw new Refused(`thinking.${thinking.type}.block_binding: Extra inputs are not permitted`)
  }
  if (BINDS.test(model) && ['enabled', 'disabled'].includes(thinking?.type)) {
    throw new Refused(`thinking.type: "${thinking.type}" is not supported for this model`)
  }
}

function checkMarks({ tools = [], system, messages, cache_control }: Json): void {
  const blocks = [...tools, ...blocksOf(system), ...messages.flatMap((message: Json) => blocksOf(message.content))]
  const marked = blocks.filter(block => block.cache_control)
  const count = marked.length + (cache_control ? 1 : 0)
  if (count > MOST_MARKS) throw new Refused(`A maximum of 4 blocks with cache_control may be provided. Found ${count}.`)
  const lifetimes = marked.map(block => lifetimeOf(block.cache_control))
  if (lifetimes.some((lifetime, i) => i > 0 && lifetime > lifetimes[i - 1]!)) {
    throw new Refused('a ttl=1h cache_control block must not come after a ttl=5m cache_control block')
  }
  for (const block of marked) {
    if (/thinking/.test(block.type)) throw new Refused('thinking blocks cannot carry cache_control')
    if (block.defer_loading) throw new Refused('a deferred tool cannot carry cache_control')
  }
}

/** Calls and results pair up, texts are not empty, and roles are known. */
function checkTools({ messages }: Json): void {
  let open = new Set<string>()
  let role = ''
  for (const [i, message] of messages.entries()) {
    const blocks = blocksOf(message.content)
    const results = new Set<string>(blocks.flatMap(block => (block.type === 'tool_result' ? [block.tool_use_id] : [])))
    const unanswered = [...open].filter(id => !results.has(id))
    if (message.role !== role && unanswered.length > 0) {
      throw new Refused(
        `messages.${i - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${unanswered}`,
      )
    }
    const stray = [...results].filter(id => !open.has(id))
    if (stray.length > 0)
      throw new Refused(`messages.${i}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}`)
    if (message.role !== role) open = new Set()
    for (const block of blocks) if (block.type === 'tool_use') open.add(block.id)
    if (blocks.length === 0) throw new Refused(`messages.${i}: content must be non-empty`)
    const blank = blocks.some(block => block.type === 'text' && block.text.trim() === '')
    if (blank) throw new Refused(`messages.${i}: text content blocks must contain non-whitespace text`)
    role = message.role
  }
}

/** In the newest assistant message a run of thinking is whole or missing. */
function checkRun(blocks: readonly Json[], at: number): void {
  const seals = blocks.flatMap(block => opened(block.signature ?? block.data) ?? [])
  for (const { run } of seals) {
    const there = seals.filter(({ id }) => run.includes(id)).map(({ id }) => id)
    if (there.join() === run.join()) continue
    throw new Refused(
      `messages.${at}.content: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified.`,
    )
  }
}

/** Which model reads whose thinking, simplified: each 5.x family reads its own. */
function familyOf(model: string): string {
  return BINDS.test(model) ? model : 'older'
}

function checkEdits({ context_management: managed }: Json, withBeta: boolean): void {
  if (managed && !withBeta) throw new Refused('context_management: Extra inputs are not permitted')
  const types: string[] = (managed?.edits ?? []).map(({ type }: Json) => type)
  const unknown = types.find(type => type !== CLEAR_USES && type !== CLEAR_THINKING)
  if (unknown) throw new Refused(`context_management.edits: \`${unknown}\` is not supported`)
  if (types.indexOf(CLEAR_THINKING) > 0)
    throw new Refused(`context_management.edits: \`${CLEAR_THINKING}\` must be first`)
}

type Edited = { blocks: Placed[]; applied?: Json[] }

/** The server's edits: a shorter view for the model, and a different prefix for the cache after the first change. */
function applyEdits({ context_management: managed }: Json, blocks: Placed[]): Edited {
  if (!managed?.edits) return { blocks }
  let left = blocks
  const applied: Json[] = []
  for (const edit of managed.edits) {
    const done = edit.type === CLEAR_USES ? clearUses(edit, left) : clearThinking(edit, left)
    if (!done) continue
    left = rechained(left, done.blocks)
    applied.push({ type: edit.type, ...done.counts, cleared_input_tokens: tokensIn(blocks) - tokensIn(left) })
  }
  return { blocks: left, applied }
}

type Done = { blocks: Placed[]; counts: Json }

/** Clears the oldest results, except those of some tools; the last `keep` uses stay. */
function clearUses(edit: Json, blocks: readonly Placed[]): Done | undefined {
  const {
    trigger = { type: 'input_tokens', value: 100_000 },
    keep = { value: 3 },
    clear_at_least,
    exclude_tools = [],
  } = edit
  const names = new Map(blocks.flatMap(({ own }) => (own.type === 'tool_use' ? [[own.id, own.name]] : [])))
  const results = blocks.filter(({ own }) => own.type === 'tool_result')
  const size = trigger.type === 'tool_uses' ? results.length : tokensIn(blocks)
  if (size <= trigger.value) return undefined
  const old = results.slice(0, Math.max(0, results.length - keep.value))
  const gone = new Set(old.filter(({ own }) => !exclude_tools.includes(names.get(own.tool_use_id))))
  const shorter = blocks.map(block => (gone.has(block) ? placeholder(block) : block))
  if (gone.size === 0 || tokensIn(blocks) - tokensIn(shorter) < (clear_at_least?.value ?? 0)) return undefined
  return { blocks: shorter, counts: { cleared_tool_uses: gone.size } }
}

function placeholder(block: Placed): Placed {
  return { ...block, own: { ...block.own, content: '[cleared]' }, tokens: Math.min(block.tokens, 10) }
}

function clearThinking({ keep }: Json, blocks: readonly Placed[]): Done | undefined {
  if (keep === undefined || keep === 'all') return undefined
  const turns = [...new Set(blocks.flatMap(({ turn }) => turn ?? []))]
  const gone = new Set(turns.slice(0, Math.max(0, turns.length - keep.value)))
  if (gone.size === 0) return undefined
  const left = blocks.filter(({ turn }) => turn === undefined || !gone.has(turn))
  return { blocks: left, counts: { cleared_thinking_turns: gone.size } }
}

/** The blocks with the hashes of the new text before them. */
function rechained(before: readonly Placed[], after: readonly Placed[]): Placed[] {
  const first = after.findIndex((block, i) => block !== before[i])
  if (first < 0) return [...after]
  let hash = after[first - 1]?.hash ?? ''
  return after.map((block, i) => (i < first ? block : { ...block, hash: (hash = hashOf(hash, block.own)) }))
}

function tokensIn(blocks: readonly Placed[]): number {
  return blocks.reduce((sum, { tokens }) => sum + tokens, 0)
}

function diagnose(previous: string | null, before: Prompt | undefined, now: Prompt): Json {
  if (previous === null) return null
  const missed = { cache_missed_input_tokens: now.blocks.reduce((sum, { tokens }) => sum + tokens, 0) }
  if (!before) return { cache_miss_reason: { type: 'previous_message_not_found' } }
  if (before.model !== now.model) return { cache_miss_reason: { type: 'model_changed', ...missed } }
  if (before.tools !== now.tools) return { cache_miss_reason: { type: 'tools_changed', ...missed } }
  if (before.system !== now.system) return { cache_miss_reason: { type: 'system_changed', ...missed } }
  const same = before.blocks.every(({ hash }, i) => now.blocks[i]?.hash === hash)
  return same ? null : { cache_miss_reason: { type: 'messages_changed', ...missed } }
}
