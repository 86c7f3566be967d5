/** The contract of policies, for each of them. Limits are small, so that small sessions trigger them. */

import { whenItPays } from '../../src/planner/hold.ts'
import { presets } from '../../src/planner/presets.ts'
import { anchor } from '../../src/policies/anchor.ts'
import { clearResults } from '../../src/policies/clear-results.ts'
import { failedCalls } from '../../src/policies/failed-calls.ts'
import { fallback } from '../../src/policies/fallback.ts'
import { images } from '../../src/policies/images.ts'
import { keepEdits } from '../../src/policies/keep-edits.ts'
import { offload } from '../../src/policies/offload.ts'
import { everyTurn, type Policy } from '../../src/policies/policy.ts'
import { recentOnly } from '../../src/policies/recent-only.ts'
import { repeatReads } from '../../src/policies/repeat-reads.ts'
import { staleOutput } from '../../src/policies/stale-output.ts'
import { summarize } from '../../src/policies/summarize.ts'
import { superseded } from '../../src/policies/superseded.ts'
import { truncateShell } from '../../src/policies/truncate-shell.ts'
import { warn } from '../../src/policies/warn.ts'
import { policyContract } from '../contracts/policy.ts'

const eager: Policy[] = [
  keepEdits({ veryLong: 3, recent: 1, together: 2, keepChars: 10 }),
  truncateShell({ small: 5, limit: 200, head: 5, tail: 5, pressure: 0.001, markedHead: 2, markedTail: 2 }),
  recentOnly({ keep: 1, tools: ['bash'] }),
  clearResults({
    trigger: { type: 'tool_uses', value: 2 },
    keep: { type: 'tool_uses', value: 1 },
    exclude_tools: [],
    clear_at_least: { type: 'input_tokens', value: 5 },
    clear_tool_inputs: true,
    max_result_chars: 80,
  }),
  warn({ limit: 50, from: 0.5 }),
  staleOutput({ after: 2, preview: 5 }),
  offload({ limit: 20, preview: 5, criticalLimit: 20, criticalPreview: 5 }),
  anchor({ every: 1, goalChars: 5 }),
  summarize({ threshold: 200, keep: 3, atLeast: 0 }),
  fallback({ threshold: 100, most: 6, least: 3 }),
  failedCalls({ after: 0, keepChars: 10 }),
  superseded({ keepChars: 3 }),
  images({ count: 0, bytes: 0 }),
  repeatReads({ samples: 1 }),
]

/** The coding session has no images, writes no whole files, and its failed calls have short inputs. */
const idle = new Set(['images', 'superseded', 'failed-calls'])

for (const policy of eager) policyContract(() => everyTurn(policy.name, [policy]), { acts: !idle.has(policy.name) })

policyContract(() => everyTurn('all at once', eager))
policyContract(() => whenItPays('all when they pay', eager))

for (const preset of presets) policyContract(() => preset, { acts: false })
