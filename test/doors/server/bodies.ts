/** A valid body for each route, so that a request is never refused because of its body. */
import { partId } from '../../../src/view/shown-texts.ts'
import { said } from './harness.ts'

/** Valid bodies, so that a request is never refused because of its body. */
export const BODIES: Record<string, unknown> = {
  'post /deletions': { sessions: ['hello'], preview: true },
  'post /redactions': { sessions: ['hello'], text: 'nowhere', preview: true },
  'post /sessions': {},
  'post /v1/compress': { messages: [{ role: 'tool', tool_call_id: 'c1', content: 'all is well' }] },
  'post /sessions/{session}/messages': { messages: [said('more')] },
  'post /sessions/{session}/edits': { action: 'discard', targets: [['00000000']] },
  'post /sessions/{session}/edits/apply': {
    edits: [{ target: { type: 'entry', entry: 0 }, replacement: 'x', why: 'y' }],
  },
  'post /sessions/{session}/pin': { entry: 0 },
  'put /sessions/{session}/title': { title: 'renamed' },
  'put /sessions/{session}/tags': { tags: ['work'] },
  'post /sessions/{session}/restore': { id: 'e1' },
  'post /sessions/{session}/compact/preview': { from: 0, to: 0 },
  'post /sessions/{session}/compact': { from: 0, to: 0, text: 'short' },
  'put /workspace/{file}': { text: 'overwritten', version: null },
  'post /agent/sessions/{session}/turns': { text: 'do something' },
  'post /agent/sessions/{session}/approvals/{id}': { yes: true },
  'post /sessions/{session}/compare': { policies: ['none'] },
  'put /users/{user}/blocks/{label}': { body: 'overwritten' },
  'post /users/{user}/blocks/{label}/propose': { append: 'more', reasoning: 'why not' },
  'post /users/{user}/blocks/{label}/restore': { version: 'v' },
  'post /tokens': { user: 'alice', role: 'admin' },
  'post /sessions/{session}/dropped': { ids: ['00000000'] },
  'put /settings': { path: ['keep'], value: 'more' },
}

export function queryFor(path: string, words: string): string {
  if (/\/(recall|memory)$/.test(path)) return `?q=${words}`
  if (/\/(around|original)$/.test(path)) return `?id=${partId(0, 0, { type: 'text' })}`
  if (path === '/users/{user}') return '?preview=true'
  return path.endsWith('/file') ? '?path=a.txt' : ''
}
