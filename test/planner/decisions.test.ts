/**
 * The decisions of planners on sessions with one seed, call by call, compared with the files beside this one. A changed
 * decision is not wrong, but must be noticed: review the difference, then run this file with `--test-update-snapshots`.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { type LongSession, longSession } from '../../bench/long-session.ts'
import type { Message } from '../../src/model/types.ts'
import { whenItPays } from '../../src/planner/hold.ts'
import { thrifty } from '../../src/planner/thrifty.ts'
import { staleOutput } from '../../src/policies/stale-output.ts'
import { truncateShell } from '../../src/policies/truncate-shell.ts'
import { type ReplayOptions, replay } from '../../src/replay/replay.ts'

/** A window that fills, so that old steps must be folded, summarised or warned about. */
const SMALL = { small: { window: 40_000 } }

/** Requests over a limit cost five times as much. */
const BANDED = { banded: { window: 1_000_000, bands: [{ above: 60_000, input: 5, output: 5 }] } }

const CASES: (ReplayOptions & { name: string; turns: number; bound?: boolean; shape?: LongSession })[] = [
  { name: 'thrifty', turns: 200, model: 'claude-sonnet-4-5' },
  { name: 'thrifty-one-hour', turns: 150, model: 'claude-opus-5', cacheTtl: '1h' },
  { name: 'thrifty-bound', turns: 200, model: 'claude-fable-5-2', cacheTtl: '1h', bound: true },
  { name: 'thrifty-openai', turns: 150, model: 'gpt-6.1', bound: true },
  { name: 'thrifty-bound-five-minutes', turns: 200, model: 'claude-sonnet-5-5', bound: true },
  { name: 'thrifty-small-window', turns: 300, model: 'small', models: SMALL },
  { name: 'thrifty-price-band', turns: 260, model: 'banded', models: BANDED },
  {
    name: 'thrifty-long-inputs',
    turns: 200,
    model: 'small',
    models: SMALL,
    policy: thrifty({ keep: 'most', protect: ['grep'] }),
    shape: { seed: 8, skeleton: 4, results: 0.5 },
  },
  { name: 'agent', turns: 150, model: 'small', models: SMALL, policy: 'agent' },
  {
    name: 'held',
    turns: 150,
    model: 'claude-sonnet-4-5',
    policy: whenItPays('held', [staleOutput(), truncateShell()]),
  },
]

for (const { name, turns, bound, shape, ...options } of CASES) {
  test(`${name} makes the recorded decisions`, async t => {
    const messages = longSession(turns, shape ?? { seed: 7 })
    const lines: string[] = []
    for await (const step of replay(bound ? messages.map(withReasoning) : messages, options)) {
      if (step.edits.length === 0 && step.decision === undefined) continue
      const { turn, tokens, edits, decision } = step
      lines.push(
        `call ${turn}: ${tokens} tokens, ${edits.length} edits${decision ? `; ${JSON.stringify(decision)}` : ''}`,
      )
      for (const { target, replacement, why } of edits) {
        lines.push(`  ${JSON.stringify(target)} → ${short(JSON.stringify(replacement))}: ${why}`)
      }
    }
    t.assert.fileSnapshot(`${lines.join('\n')}\n`, join(import.meta.dirname, 'decisions', `${name}.txt`), {
      serializers: [value => value],
    })
  })
}

/** As the agents of reasoning models send it: each answer begins with signed reasoning. */
function withReasoning(message: Message, i: number): Message {
  if (message.role !== 'assistant') return message
  const text = `I think about step ${i}. `.repeat(1 + (i % 7))
  return { ...message, parts: [{ type: 'reasoning', text }, ...message.parts] }
}

function short(text = ''): string {
  if (text.length <= 60) return text
  return `${text.length} characters, ${createHash('sha256').update(text).digest('hex').slice(0, 12)}`
}
