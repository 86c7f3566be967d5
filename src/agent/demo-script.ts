/**
 * The demo model's script: its next text and calls, as a function of the conversation alone.
 *
 * It ignores the meaning of requests. It answers the first with a tour of a small project (list files, run the tests,
 * fix a bug, edit the context, propose a memory), and later ones with short texts from the session. It says that it is
 * a script.
 */

import { requestIn } from '../calls/requests.ts'
import { textOf } from '../model/leaves.ts'
import { headOf, inOneLine } from '../model/text.ts'
import type { Message, ToolResultPart } from '../model/types.ts'

type DemoCall = { name: string; input: Record<string, unknown> }
export type DemoTurn = { text: string; calls?: DemoCall[] }

type Scene = {
  request: string
  /** The number of answers since the request. */
  step: number
  results: ToolResultPart[]
}

export function demoTurn(messages: readonly Message[]): DemoTurn {
  const at = messages.findLastIndex(message => requestIn(message) !== undefined)
  const behind = messages.slice(at + 1)
  const scene: Scene = {
    request: requestIn(messages[at]) ?? '',
    step: behind.filter(({ role }) => role === 'assistant').length,
    results: behind.flatMap(({ parts }) => parts.filter(part => part.type === 'tool-result')),
  }
  const system = messages.find(({ role }) => role === 'system')
  if (system?.parts.map(textOf).join('').includes('You are a subagent')) return subagent(scene)
  const isFirst = messages.slice(0, at).every(message => requestIn(message) === undefined)
  return isFirst ? tour(scene) : later(scene)
}

function tour(scene: Scene): DemoTurn {
  return (TOUR[scene.step] ?? farewell)(scene)
}

const TOUR: readonly ((scene: Scene) => DemoTurn)[] = [
  ({ request }) => ({
    text: `I am the demo that comes with Palimpsest: a script, not a language model. I give the same tour whatever you ask (you asked: “${inOneLine(request, 120)}”), but everything you see is real: the files, the commands, the ledger, the edits.\n\nFirst I look around. Three calls in one step run at the same time.`,
    calls: [
      { name: 'list_files', input: {} },
      { name: 'read_file', input: { path: 'README.md' } },
      { name: 'read_file', input: { path: 'src/cart.js' } },
    ],
  }),
  () => ({
    text: 'A small shop with a cart. Before I change anything I run its tests. That is a shell command, so you are asked first.',
    calls: [{ name: 'run_command', input: { command: TEST } }],
  }),
  ({ results }) => ({
    text: wasRun(results)
      ? 'One test fails: the total ignores the quantity. I fix that line, and check the build log for anything else.'
      : 'Without the tests, I read the code: the total ignores the quantity. I fix that line, and check the build log.',
    calls: [
      {
        name: 'edit_file',
        input: {
          path: 'src/cart.js',
          old_string: 'sum + item.price, 0)',
          new_string: 'sum + item.price * item.quantity, 0)',
          intent: 'the total counts every piece, not every kind',
        },
      },
      { name: 'read_file', input: { path: 'logs/build.log' } },
    ],
  }),
  ({ results }) => ({
    text: 'The log is long and reports no problem, so I keep only one line of it in my context. Nothing is lost: the original stays in the ledger, and `context` with `restore` brings it back.',
    calls: [
      ...(wasRun(results) ? [{ name: 'run_command', input: { command: TEST } }] : []),
      { name: 'context', input: distill(results) },
      { name: 'list_memory_blocks', input: {} },
    ],
  }),
  ({ results }) => ({
    text: 'One thing is worth remembering for other sessions. I can only propose it; you decide.',
    calls: [remember(results, 'Tests of the shop are run with `node --test`.')],
  }),
]

function farewell({ results }: Scene): DemoTurn {
  const tested = lastOf(results, 'run_command')
  const passed = tested !== undefined && /\[exit code 0\]\s*$/.test(textOf(tested))
  const tests = passed ? 'the tests pass now' : 'the tests were not run, so check it yourself'
  return {
    text: `Done. What happened:

- \`src/cart.js\`: the total counts **every piece**, not every kind; ${tests}
- the build log takes **one line** of my context instead of a few thousand characters
- a **memory proposal** is waiting for you

| to see | command |
|---|---|
| what I see, and why | \`palimpsest show\` |
| every edit, and how to undo it | \`palimpsest edits\`, \`palimpsest undo\` |
| what I would like to remember | \`palimpsest memory proposals\` |

With a real model behind it (ANTHROPIC_API_KEY or OPENAI_API_KEY) the same loop does what you ask.`,
  }
}

function later(scene: Scene): DemoTurn {
  const { request, step, results } = scene
  if (step > 0) return { text: report(results) }
  const remark = 'I am still the script, so I only know a few words. '
  if (/undo|take.{0,40}back|revert/i.test(request)) {
    return {
      text: `${remark}I undo my change to the cart.`,
      calls: [{ name: 'undo_edit', input: { path: 'src/cart.js' } }],
    }
  }
  if (/delegate|subagent/i.test(request)) {
    return {
      text: `${remark}I give a small task to a subagent, which works in a session of its own.`,
      calls: [{ name: 'delegate', input: { task: 'Find out which files this project has.' } }],
    }
  }
  if (/remember|memory/i.test(request)) {
    return { text: `${remark}I propose that for your memory.`, calls: [{ name: 'list_memory_blocks', input: {} }] }
  }
  return {
    text: `${remark}I search everything that happened in this session.`,
    calls: [{ name: 'recall', input: { query: longestWord(request), limit: 5 } }],
  }
}

function report(results: readonly ToolResultPart[]): string {
  const last = results.at(-1)
  const text = last ? textOf(last) : ''
  if (last?.name === 'list_memory_blocks')
    return `Your memory now:\n\n${text}\n\nWaiting proposals: \`palimpsest memory proposals\`.`
  return `This is what I found:\n\n\`\`\`\n${headOf(text, 1_500)}\n\`\`\`\n\nTry: “undo that”, “delegate something”, “what do you remember?”, or any word to search for.`
}

function subagent({ step, results }: Scene): DemoTurn {
  if (step === 0) return { text: 'I look at the folder.', calls: [{ name: 'list_files', input: { depth: 3 } }] }
  const files = textOf(results.at(-1)!)
    .split('\n')
    .filter(line => !line.endsWith('/'))
  return { text: `The project has ${files.length} files: ${files.join(', ')}.` }
}

const TEST = 'node --test'

function wasRun(results: readonly ToolResultPart[]): boolean {
  const result = lastOf(results, 'run_command')
  return result !== undefined && /\[exit code/.test(textOf(result))
}

function lastOf(results: readonly ToolResultPart[], name: string): ToolResultPart | undefined {
  return results.findLast(result => result.name === name)
}

/** Distills the last long result, by the id at its end; without one, asks for suggestions. */
function distill(results: readonly ToolResultPart[]): Record<string, unknown> {
  const ids = results.flatMap(result => /\[id (\w+)\]\s*$/.exec(textOf(result))?.[1] ?? [])
  const id = ids.at(-1)
  if (id === undefined) return { action: 'suggest' }
  return { action: 'distill', targets: [[id, 'build.log: 120 modules built, no warning, no error']] }
}

function remember(results: readonly ToolResultPart[], fact: string): DemoCall {
  const blocks = lastOf(results, 'list_memory_blocks')
  const reasoning = 'It was needed in this session and will be needed again.'
  if (blocks && /- preferences:/.test(textOf(blocks))) {
    return { name: 'propose_memory_append', input: { block_label: 'preferences', text: `- ${fact}`, reasoning } }
  }
  return {
    name: 'propose_memory_block',
    input: { block_label: 'preferences', title: 'Preferences', body: `- ${fact}\n`, reasoning },
  }
}

function longestWord(request: string): string {
  const words = request.match(/[\p{L}\p{N}_]+/gu) ?? ['cart']
  return words.reduce((best, word) => (word.length > best.length ? word : best))
}
