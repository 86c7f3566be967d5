import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromAnthropic } from '../../../src/formats/adapters/anthropic.ts'
import { fromOpenAIChat } from '../../../src/formats/adapters/openai-chat.ts'
import { fromOpenAIResponses } from '../../../src/formats/adapters/openai-responses.ts'
import { wireFormOf } from '../../../src/formats/wire-form.ts'
import type { Message } from '../../../src/model/types.ts'
import { checkView } from '../../../src/view/legality.ts'
import { keyOf } from '../../../src/view/sync.ts'
import { type Received, startUpstream } from '../../upstream.ts'
import { builder, LOOPS } from './loops.ts'
import { entriesOf, sessionNames, setUp } from './setup.ts'

const ROUNDS = 44
/** The path for counting tokens, for dialects that have one. */
const COUNTS: Record<string, string> = {
  '/v1/messages': '/v1/messages/count_tokens',
  '/v1/responses': '/v1/responses/input_tokens',
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of three dialects
function messagesIn(json: any): Message[] {
  const form = wireFormOf(json)
  if (json.input !== undefined) return fromOpenAIResponses(json.input, json.instructions)
  return form?.dialect === 'anthropic' ? fromAnthropic(json.messages, json.system) : fromOpenAIChat(json.messages)
}

for (const { name, run } of LOOPS) {
  test(`${name} completes ${ROUNDS} rounds with edits, and the ledger has its messages`, async () => {
    await using direct = await startUpstream(builder(ROUNDS))
    await run(direct.url)
    const counted: Message[][] = []
    const count = ({ json }: Received) => {
      counted.push(messagesIn(json))
      return { status: 200, body: { input_tokens: 1 } }
    }
    await using it = await setUp(builder(ROUNDS), { policy: 'thrifty' }, { count })
    assert.match(await run(it.url), /all of it works/)
    await it.proxy.idle()

    const sent = direct.requests.map(({ json }) => messagesIn(json))
    const shown = it.upstream.requests.map(({ json }) => messagesIn(json))
    assert.equal(shown.length, ROUNDS + 1)
    assert.deepEqual(it.faults, [])
    assert.ok(it.proxy.meter.totals.edits > 10, `only ${it.proxy.meter.totals.edits} edits were made`)
    const lastBytes = it.upstream.requests.at(-1)!.body.length
    assert.ok(lastBytes < direct.requests.at(-1)!.body.length * 0.7, `the last request had ${lastBytes} bytes`)
    for (const messages of shown) assert.deepEqual(checkView(messages), [])

    const [session, ...more] = await sessionNames(it.pal)
    assert.deepEqual(more, [], 'one conversation is one session')
    assert.deepEqual((await entriesOf(it.pal, session!)).map(keyOf), sent.at(-1)!.map(keyOf))
    const totals = await it.proxy.totals()
    assert.equal(totals.calls, ROUNDS + 1)
    assert.ok(totals.tokensSent < totals.tokensIn * 0.9)
    assert.ok(totals.input > 0, 'usage was read')

    const { path, body } = direct.requests.at(-1)!
    const counts = COUNTS[path]
    if (counts === undefined) return
    const { system: _, instructions: __, ...withoutPrompt } = JSON.parse(body)
    for (const asked of [body, JSON.stringify(withoutPrompt)])
      assert.equal((await fetch(it.url + counts, { method: 'POST', body: asked })).status, 200)
    const last = shown.at(-1)!
    const prompts = sent.at(-1)!.length - messagesIn(withoutPrompt).length
    assert.deepEqual(counted, [last, last.slice(prompts)], 'a count is of what was sent')
  })

  test(`${name} sends the same bytes through the proxy when there is nothing to edit`, async () => {
    await using direct = await startUpstream(builder(3))
    await run(direct.url)
    for (const policy of ['none', 'thrifty']) {
      await using it = await setUp(builder(3), { policy })
      await run(it.url)
      assert.deepEqual(bodies(it.upstream.requests), bodies(direct.requests))
    }
  })
}

function bodies(requests: readonly { body: string }[]): string[] {
  return requests.map(({ body }) => body)
}
