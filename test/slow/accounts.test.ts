/** The account of every recorded session; test/replay/account.test.ts checks a few. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readTranscript } from '../../src/formats/transcripts/read-transcript.ts'
import { checkDoors, RECORDED, skip, TRACES } from '../replay/doors.ts'

test('every command and page shows the same sum for every recorded session with usage, to the cent', {
  skip,
}, async () => {
  const files = globSync(`{${RECORDED}}/*`, { cwd: TRACES }).map(file => join(TRACES, file))
  const checked = await checkDoors(files)
  assert.ok(checked > 40, `${checked} sessions`)
})

type Counted = { input: number; output: number }
type Numbers = Record<string, number>
type Line = {
  type?: string
  message?: { id: string; usage?: Numbers }
  payload?: { info?: { total_token_usage?: Numbers } }
}

/** Tokens in and out in the clients' own files, summed without our readers. */
const COUNTED: Record<string, (lines: readonly Line[]) => Counted> = {
  'claude-code': lines => {
    const answers = lines.flatMap(({ type, message }) => (type === 'assistant' && message?.usage ? [message] : []))
    return added([...new Map(answers.map(({ id, usage }) => [id, usage!])).values()], usage => ({
      input: usage['input_tokens']! + usage['cache_creation_input_tokens']! + usage['cache_read_input_tokens']!,
      output: usage['output_tokens']!,
    }))
  },
  codex: lines => {
    const last = lines.map(({ payload }) => payload?.info?.total_token_usage).findLast(total => total)!
    return { input: last['input_tokens']!, output: last['output_tokens']! }
  },
  pi: lines =>
    added(
      lines.map(({ message }) => message?.usage).filter(usage => usage !== undefined),
      usage => ({ input: usage['input']! + usage['cacheRead']! + usage['cacheWrite']!, output: usage['output']! }),
    ),
}

function added<T>(items: readonly T[], of: (item: T) => Counted): Counted {
  return items.map(of).reduce((sum, one) => ({ input: sum.input + one.input, output: sum.output + one.output }), {
    input: 0,
    output: 0,
  })
}

test('the tokens of a file equal those that the client counted', { skip }, async () => {
  for (const [format, countIn] of Object.entries(COUNTED)) {
    for (const file of globSync(`${format}/*`, { cwd: TRACES }).map(name => join(TRACES, name))) {
      const lines = readFileSync(file, 'utf8').trim().split('\n')
      const { sessions } = await readTranscript(file)
      const own = sessions.flatMap(({ usage, carried }) => usage.filter(({ message }) => message >= carried))
      const read = added(own, ({ usage: { input = 0, cacheRead = 0, cacheWrite = 0, output = 0 } }) => {
        return { input: input + cacheRead + cacheWrite, output }
      })
      assert.deepEqual(read, countIn(lines.map(line => JSON.parse(line))), file)
    }
  }
})
