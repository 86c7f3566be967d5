/**
 * The calls of a session by id, each with what it does, and the kinds of unknown tools, learned from their results.
 *
 * A tool that takes a command runs it. A tool that takes a file and perhaps lines, and whose first result is several
 * lines of text, reads files. Entries are taken in order and the first result decides, so the same session always
 * gives the same kinds: the ledger is the record.
 */
import { textOf } from '../model/leaves.ts'
import type { ToolCallPart, ToolResultPart } from '../model/types.ts'
import { type CallInfo, describeCall, guessRun, mayRead, type ToolSpec, type ToolTable } from './tool-kinds.ts'

type KnownCall = { name: string; info: CallInfo }

const READ: ToolSpec = { kind: 'read' }
const RUN: ToolSpec = { kind: 'shell' }
/** A one-line result is a confirmation; a file's text has more lines. */
const MIN_LINES = 3

export class CallBook {
  readonly #tools: ToolTable | undefined
  readonly #calls = new Map<string, KnownCall & { input: unknown }>()
  /** By name; undefined if the first result showed that the tool has no kind that we know. */
  readonly #learned = new Map<string, ToolSpec | undefined>()

  constructor(tools?: ToolTable) {
    this.#tools = tools
  }

  call({ id, name, input }: ToolCallPart): CallInfo {
    const info = this.#describe(name, input)
    this.#calls.set(id, { name, info, input })
    return info
  }

  result(part: ToolResultPart): KnownCall {
    const call = this.#calls.get(part.id)
    if (!call) return { name: part.name, info: describeCall(part.name, undefined, this.#tools) }
    if (call.info.kind !== 'other' || part.isError) return call
    if (!this.#learned.has(call.name)) {
      const reads = mayRead(call.input) && textOf(part).trim().split('\n', MIN_LINES).length === MIN_LINES
      this.#learned.set(call.name, reads ? READ : undefined)
    }
    return { name: call.name, info: this.#describe(call.name, call.input) }
  }

  #describe(name: string, input: unknown): CallInfo {
    const info = describeCall(name, input, this.#tools)
    if (info.kind !== 'other') return info
    const spec = this.#learned.get(name) ?? (guessRun(input) ? RUN : undefined)
    return spec ? describeCall(name, input, spec) : info
  }
}
