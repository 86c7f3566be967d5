/**
 * An OpenAI that checks, as a script for upstream.ts: it accepts the Responses API (and Chat, without reasoning),
 * silently drops reasoning after a change, refuses items that do not pair, caches only at the ends of messages (the
 * latest 80 are looked up, one is written), and bills by the band of the whole prompt. Models before GPT-5.6 keep every
 * prefix and bind nothing.
 */
import { type Received, type Turn, thoughtsOf } from '../upstream.ts'
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
  sealed,
  sizeOf,
  sorted,
} from './billing.ts'

// biome-ignore lint/suspicious/noExplicitAny: requests of many shapes
type Json = any

export type CheckingOpenAI = {
  script: (received: Received, index: number) => Turn
  bill: Bill
  refusals: string[]
  /** The numbers of reasoning items that were dropped, and that the model saw. */
  dropped: number
  shown: number
}

const MOST_LOOKED_UP = 80
const MINIMUM = 1024
const MINUTE = 60_000
const NEWER = /^gpt-(?:5\.6|6)/

const CALLS = new Set(['function_call', 'custom_tool_call'])
const OUTPUTS = new Set(['function_call_output', 'custom_tool_call_output'])

class Refused extends Error {}

export function checkingOpenAI(
  answer: (received: Received, index: number) => Turn,
  { clock = Date.now }: { clock?: () => number } = {},
): CheckingOpenAI {
  const cache = new PrefixCache(clock)
  const sent = new Map<string, Prompt>()
  let made = 0
  const it: CheckingOpenAI = { script, bill: emptyBill(), refusals: [], dropped: 0, shown: 0 }
  return it

  function script(received: Received, index: number): Turn {
    const { json } = received
    const isChat = json.messages !== undefined
    let prompt: Prompt
    try {
      prompt = read(json)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      it.refusals.push(error.message)
      return { error: { status: 400, body: { error: { message: error.message, type: 'invalid_request_error' } } } }
    }
    const turn = answer(received, index)
    if (turn.error) return turn
    const used = readAndWrite(cache, json, prompt)
    const [thought] = isChat ? [] : thoughtsOf(turn)
    const id = `r${made++}`
    const reasoning = thought ? sizeOf(thought.text) : 0
    const seal = { id, model: json.model, prefix: prompt.prefix, before: prompt.thoughts, run: [id], tokens: reasoning }
    const thinking = thought ? { thinking: { ...thought, signature: sealed(seal) } } : {}
    const output = reasoning + sizeOf([turn.text ?? '', turn.calls ?? []])
    charge(it.bill, { ...used, output }, PRICES[json.model]!)
    const compared = json.prompt_cache_options?.comparison_response_id
    const diagnosis = compared ? { prompt_cache_diagnostics: diagnose(sent.get(compared), prompt) } : {}
    sent.set(`resp_${index}`, prompt)
    const { thinking: _, ...said } = turn
    return { ...said, ...thinking, usage: { ...used, output, reasoning }, more: { ...diagnosis, ...turn.more } }
  }

  function read(json: Json): Prompt {
    const items = json.messages ? json.messages.flatMap(itemsOf) : json.input
    checkPairs(items)
    const prompt = new Prompt(json)
    let dropping = false
    for (const item of items) {
      if (item.type !== 'reasoning') {
        prompt.take(item)
        continue
      }
      const seal = opened(item.encrypted_content)
      if (!seal) throw new Refused(`The encrypted content for item ${item.id} could not be verified.`)
      const fits = holds(seal, { prefix: prompt.prefix, before: prompt.thoughts })
      dropping ||= NEWER.test(json.model) && (seal.model !== json.model || !fits)
      if (dropping) it.dropped++
      else it.shown++
      if (!dropping) prompt.think(seal.id, item, seal.tokens)
    }
    return prompt
  }
}

/** A message of Chat as items of Responses. */
function itemsOf({ role, content, tool_calls = [], tool_call_id: call_id }: Json): Json[] {
  if (role === 'tool') return [{ type: 'function_call_output', call_id, output: content }]
  const calls = tool_calls.map(({ id, function: { name, arguments: text } }: Json) => {
    return { type: 'function_call', call_id: id, name, arguments: text }
  })
  return content || calls.length === 0 ? [{ type: 'message', role, content }, ...calls] : calls
}

/** `ends`: whether a cache entry may end here. */
type Placed = Block & { ends: boolean }

class Prompt {
  readonly blocks: Placed[] = []
  readonly thoughts: string[] = []
  readonly model: string
  readonly tools: string
  prefix: string
  #all: string

  constructor({ model, tools, instructions, text, reasoning, prompt_cache_key: key }: Json) {
    this.model = model
    this.tools = hashOf(sorted(tools ?? []))
    this.prefix = hashOf(this.tools, instructions, text?.format)
    this.#all = hashOf(model, this.prefix, reasoning?.effort, key)
    this.blocks.push({ hash: this.#all, tokens: sizeOf([tools ?? [], instructions ?? '']), ends: true })
  }

  take(item: Json): void {
    const { id: _, status: __, ...said } = item
    this.prefix = hashOf(this.prefix, sorted(said))
    const result = OUTPUTS.has(item.type)
    const last = this.blocks.at(-1)!
    // Of consecutive outputs only the last may end an entry.
    if (result && this.#ranResult) last.ends = false
    this.#ranResult = result
    this.#add(said, sizeOf(said), result || ['user', 'developer', 'system'].includes(item.role))
  }

  think(id: string, item: Json, tokens: number): void {
    this.thoughts.push(id)
    this.#ranResult = false
    this.#add(item.encrypted_content, tokens, false)
  }

  #ranResult = false

  #add(said: unknown, tokens: number, ends: boolean): void {
    this.#all = hashOf(this.#all, said)
    this.blocks.push({ hash: this.#all, tokens, ends })
  }
}

function readAndWrite(cache: PrefixCache, { model, prompt_cache_options: options }: Json, { blocks }: Prompt) {
  const newer = NEWER.test(model)
  const lifetime = options?.ttl === '12h' ? 720 * MINUTE : newer ? 30 * MINUTE : 5 * MINUTE
  const ends: number[] = []
  for (const { tokens } of blocks) ends.push((ends.at(-1) ?? 0) + tokens)
  const places = blocks.flatMap(({ ends: may }, at) => (may || !newer ? [at] : [])).filter(at => ends[at]! >= MINIMUM)
  const hit = places.slice(-MOST_LOOKED_UP).findLast(at => cache.read(blocks[at]!.hash))
  const written = newer ? places.slice(-1) : places
  for (const at of written) cache.write(blocks[at]!.hash, lifetime)
  const read = hit === undefined ? 0 : ends[hit]!
  const upTo = Math.max(read, ends[places.at(-1) ?? -1] ?? 0)
  const cacheWrite = newer ? upTo - read : 0
  const cacheWriteLong = lifetime > 30 * MINUTE && newer ? cacheWrite : 0
  return { cacheRead: read, cacheWrite, cacheWriteLong, input: ends.at(-1)! - read - cacheWrite }
}

/** A reasoning item needs its following item; calls and outputs pair by their ids. */
function checkPairs(input: Json[]): void {
  const open = new Set<string>()
  for (const [i, item] of input.entries()) {
    const next = input[i + 1]
    const leads = next && (next.role === 'assistant' || CALLS.has(next.type) || next.type === 'reasoning')
    if (item.type === 'reasoning' && !leads) {
      throw new Refused(`Item '${item.id}' of type 'reasoning' was provided without its required following item.`)
    }
    if (CALLS.has(item.type)) open.add(item.call_id)
    if (!OUTPUTS.has(item.type)) continue
    if (!open.delete(item.call_id)) throw new Refused(`No tool call found for function call output ${item.call_id}.`)
  }
  if (open.size > 0) throw new Refused(`No tool output found for function call ${[...open]}.`)
}

function diagnose(before: Prompt | undefined, now: Prompt): Json {
  if (!before) return { type: 'comparison_response_not_found' }
  const reason = (name: string) => ({ type: 'cache_miss', reason: name, cache_missed_tokens: 0 })
  if (before.model !== now.model) return reason('model_changed')
  if (before.tools !== now.tools) return reason('tools_changed')
  const same = before.blocks.every(({ hash }, i) => now.blocks[i]?.hash === hash)
  return same ? { type: 'cache_hit' } : reason('input_changed')
}
