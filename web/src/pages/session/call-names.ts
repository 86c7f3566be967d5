/**
 * What a tool call does and to which file, command or query, by the same rules as in the engine. A result is named
 * after its call; if the call has not been read yet, only the tool is known. Pure.
 */
import { type CallInfo, describeCall } from '../../../../src/calls/tool-kinds.ts'
import { inOneLine, tailOf } from '../../../../src/model/text.ts'
import type { Message, Part } from '../../api-types.ts'

export class CallNames {
  readonly #calls = new Map<string, CallInfo>()

  /** The kind of a part, and the file, command or query it is about. */
  of({ role }: Message, part: Part): { kind: string; label: string } {
    if (part.type === 'tool-call') {
      const info = this.#calls.get(part.id) ?? describeCall(part.name, part.input)
      this.#calls.set(part.id, info)
      return { kind: info.kind, label: labelOf(info) }
    }
    if (part.type === 'tool-result') {
      const info = this.#calls.get(part.id) ?? describeCall(part.name, undefined)
      return { kind: info.kind, label: labelOf(info) }
    }
    if (part.type === 'text') return { kind: role === 'tool' ? 'other' : role, label: '' }
    return { kind: part.type, label: '' }
  }
}

const MOST = 60

/** A long path is shortened at its beginning, a command at its end. */
function labelOf({ path, command, query }: CallInfo): string {
  if (path !== undefined) return path.length > MOST ? `…${tailOf(path, MOST - 1)}` : path
  return inOneLine(command ?? query ?? '', MOST)
}
