/** Defines a policy and tries it on a conversation. Needs no key. */
import type { Message } from 'palimpsest'
import { checkPolicy, definePolicy } from 'palimpsest/policies'

/** Keeps only the first lines of a long listing. */
const shortLists = definePolicy('short-lists', ({ fresh }) =>
  fresh
    .filter(part => part.type === 'tool-result' && part.kind === 'list' && part.tokens > 100)
    .map(part => ({
      part,
      replacement: `${part.text.split('\n').slice(0, 5).join('\n')}\n[more left out; list the folder again if needed]`,
      why: 'a long listing',
    })),
)

const names = Array.from({ length: 500 }, (_, i) => `file-${i}.ts`)
const conversation: Message[] = [
  { role: 'user', parts: [{ type: 'text', text: 'Which files are there?' }] },
  { role: 'assistant', parts: [{ type: 'tool-call', id: '1', name: 'list_files', input: { path: '.' } }] },
  { role: 'tool', parts: [{ type: 'tool-result', id: '1', name: 'list_files', output: names.join('\n') }] },
]
const { problems, edits, saved } = await checkPolicy(shortLists, conversation)
console.log(`${edits.length} edit, ${saved} tokens saved, ${problems.length} problems`)
