/**
 * deepagents, from its own package: its file system middleware replaces a new tool result that is too large by its
 * first and last lines and the path of a file.
 */
import { ToolMessage } from '@langchain/core/messages'
import type { Message } from '../../src/model/types.ts'
import { Cleared, outputOf, type Peer, resultOf } from './peer.ts'

type Request = { toolCall: { id: string; name: string; args: object }; state: object; runtime: object }
type Middleware = { wrapToolCall(request: Request, handler: () => Promise<ToolMessage>): Promise<unknown> }
type Package = { createFilesystemMiddleware(options: object): Middleware }

const PACKAGE: string = 'deepagents'

export async function loadDeepagents(): Promise<Peer[]> {
  const found: unknown = await import(PACKAGE)
  if (!isPackage(found)) throw new Error('deepagents has no createFilesystemMiddleware')
  const early = (tokens: number) => ({ toolTokenLimitBeforeEvict: tokens })
  return [
    eviction(found, 'default: over 20k tokens', {}),
    eviction(found, 'best: over 2k tokens', early(2000)),
    ...[5000, 1000, 500].map(tokens => eviction(found, `knob: over ${tokens / 1000}k tokens`, early(tokens))),
  ]
}

function isPackage(found: unknown): found is Package {
  return found !== null && typeof found === 'object' && 'createFilesystemMiddleware' in found
}

function eviction({ createFilesystemMiddleware }: Package, setting: string, options: object): Peer {
  return {
    name: 'deepagents eviction',
    setting,
    source: 'deepagents 1.14, createFilesystemMiddleware',
    runs: 'package',
    start() {
      const middleware = createFilesystemMiddleware({ backend: DISCARD, ...options })
      const cleared = new Cleared()
      return {
        async view({ messages, fresh }) {
          for (const message of messages.slice(fresh)) {
            const text = await evicted(middleware, message)
            if (text !== undefined) cleared.clear(message, text)
          }
          return cleared.show(messages)
        },
      }
    },
  }
}

/** The text in place of an evicted result. Tools of other agents get the names that deepagents gives its own. */
async function evicted(middleware: Middleware, message: Message): Promise<string | undefined> {
  const result = resultOf(message)
  if (!result) return undefined
  const name = OWN_NAMES[result.name.toLowerCase()] ?? result.name
  const before = outputOf(result)
  const request = { toolCall: { id: result.id, name, args: {} }, state: {}, runtime: {} }
  const given = await middleware.wrapToolCall(request, async () => {
    return new ToolMessage({ tool_call_id: result.id, name, content: before })
  })
  if (!ToolMessage.isInstance(given)) throw new Error('deepagents answered with something else than a message')
  const text = String(given.content)
  return text === before ? undefined : text
}

const OWN_NAMES: Record<string, string> = {
  read: 'read_file',
  edit: 'edit_file',
  write: 'write_file',
  bash: 'execute',
  exec_command: 'execute',
  shell: 'execute',
}

/** A store that keeps nothing, because nobody reads the files of a replay. */
const DISCARD = { write: async (path: string) => ({ path, filesUpdate: null }) }
