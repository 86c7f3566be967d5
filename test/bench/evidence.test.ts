import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEditedText } from '../../bench/edited-text.ts'
import { findIdentifiers } from '../../bench/identifiers.ts'
import type { Message } from '../../src/model/types.ts'

const LINE = 'export function settle(invoice: Invoice, account: Account): Receipt {'

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
const says = (text: string): Message => ({ role: 'assistant', parts: [{ type: 'text', text }] })
const calls = (id: string, name: string, input: unknown): Message => {
  return { role: 'assistant', parts: [{ type: 'tool-call', id, name, input }] }
}

/** Reads a file, then edits a line of it. */
const session = (output = `     1→${LINE}\n     2→}`): Message[] => [
  user('please settle it'),
  calls('a', 'read_file', { path: 'src/settle.ts' }),
  { role: 'tool', parts: [{ type: 'tool-result', id: 'a', name: 'read_file', output }] },
  calls('b', 'edit_file', { path: 'src/settle.ts', old_string: LINE, new_string: '// gone' }),
]

test('names from tool output are identifiers; ordinary words and names that were said are not', () => {
  const messages = [...session('the settleInvoice function'), says('settleInvoice looks like an understanding')]
  assert.deepEqual(findIdentifiers(messages).quotes.get(2), [{ text: 'settleInvoice', sources: [1] }])
  const told = [user('see settleInvoice'), ...messages.slice(1)]
  assert.equal(findIdentifiers(told).quotes.get(2), undefined)
})

test('the text that an edit replaces is found in copies of the same file only', () => {
  assert.deepEqual(findEditedText(session()).quotes.get(1)?.[0]?.sources, [1])
  const other = session()
  other[1] = calls('a', 'read_file', { path: 'src/other.ts' })
  assert.equal(findEditedText(other).quotes.size, 0)
})

test('the lines that a patch expects are edited text', () => {
  const messages = session()
  const patch = `*** Begin Patch\n*** Update File: src/settle.ts\n@@\n-${LINE}\n+// gone\n*** End Patch`
  messages[3] = calls('b', 'apply_patch', { input: patch })
  assert.deepEqual(findEditedText(messages).quotes.get(1)?.[0]?.text, LINE)
})
