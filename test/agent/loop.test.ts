/** The loop of the agent: what is sent, what is recorded and in which order, and which events are emitted. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { openAgent } from '../../src/agent/agent.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { all, doneOf, only, openGround, stoppedAt, textsOf } from './harness.ts'

const call = (name: string, input: unknown, id?: string) => ({ name, input, ...(id ? { id } : {}) })

for (const provider of ['openai-compatible', 'anthropic'] as const) {
  test(`the agent runs tools and then answers (${provider})`, async () => {
    await using ground = await openGround(
      [
        { text: 'I look.', calls: [call('read_file', { path: 'a.txt' }), call('list_files', {})] },
        { text: 'It says hello.', usage: { input: 100, cacheRead: 900, output: 20 } },
      ],
      { provider, files: { 'a.txt': 'hello' } },
    )
    const events = await all(ground.agent.run('What is in a.txt?'))
    assert.deepEqual(doneOf(events), {
      type: 'done',
      reason: 'answered',
      message: 'It says hello.',
      steps: 2,
      cost: doneOf(events).cost,
    })
    assert.equal(
      only(events, 'text')
        .map(({ text }) => text)
        .join(''),
      'I look.It says hello.',
    )
    assert.deepEqual(
      only(events, 'call').map(({ name }) => name),
      ['read_file', 'list_files'],
    )
    assert.equal(only(events, 'result').find(({ name }) => name === 'read_file')?.text, 'hello')
    const [first, second] = ground.upstream.requests
    assert.equal(first?.json.temperature, 0.5)
    assert.equal(first?.json.stream, true)
    assert.ok(first?.json.tools.length > 10)
    assert.ok(second?.body.includes('hello'))
    const [, last] = only(events, 'usage')
    assert.deepEqual(last?.context, { tokens: 1000, window: last!.context.window, cached: 900 })
    assert.ok(last!.cost > 0 && doneOf(events).cost > last!.cost)
  })
}

test('the ledger has the whole of a long output, the model sees its beginning and end', async () => {
  await using ground = await openGround(
    [{ calls: [call('run_command', { command: 'seq 1 20000' }, 'c1')] }, { text: 'counted' }],
    { allow: { all: true } },
  )
  await all(ground.agent.run('count'))
  const { session } = ground.agent
  const results = session.fold.entries
    .flatMap(({ message }) => message?.parts ?? [])
    .filter(({ type }) => type === 'tool-result')
  const [result] = results
  assert.ok(result?.type === 'tool-result' && String(result.output).includes('\n10000\n'))
  const sent = ground.upstream.requests[1]!.body
  assert.ok(!sent.includes('\\n10000\\n') && sent.includes('chars left out') && sent.includes('\\n20000'))
})

test('the note on a shortened output says how to read all of it, and that works', async () => {
  await using ground = await openGround(
    ({ body }, index) => {
      if (index === 0) return { calls: [call('run_command', { command: 'seq 1 20000' })] }
      const id = /recall\(text=\\"([0-9a-f]{8})\\"\)/.exec(body)?.[1]
      return index === 1 ? { calls: [call('recall', { text: id, from: 40_000 })] } : { text: 'counted' }
    },
    { allow: { all: true } },
  )
  await all(ground.agent.run('count'))
  assert.ok(ground.upstream.requests[2]!.body.includes('\\n10000\\n'))
})

test('requests to Anthropic have cache marks after the system prompt, at the end and at the previous end', async () => {
  await using ground = await openGround([{ calls: [call('list_files', {})] }, { text: 'done' }], {
    provider: 'anthropic',
  })
  await all(ground.agent.run('go'))
  const marks = ({ body }: { body: string }) => body.split('cache_control').length - 1
  assert.equal(marks(ground.upstream.requests[0]!), 2)
  assert.equal(marks(ground.upstream.requests[1]!), 3)
  assert.ok(ground.upstream.requests[1]!.json.system[0].cache_control)
})

test('signatures of a provider are sent back unchanged', async () => {
  await using ground = await openGround(
    [{ thinking: { text: 'hm', signature: 'sig-1' }, calls: [call('list_files', {})] }, { text: 'done' }],
    { provider: 'anthropic' },
  )
  const events = await all(ground.agent.run('go'))
  assert.equal(
    only(events, 'reasoning')
      .map(({ text }) => text)
      .join(''),
    'hm',
  )
  const assistant = ground.upstream.requests[1]!.json.messages.find((m: { role: string }) => m.role === 'assistant')
  assert.deepEqual(assistant.content[0], { type: 'thinking', thinking: 'hm', signature: 'sig-1' })
})

test('the request is recorded before the model is called, and every result before the next call', async () => {
  const lengths: number[] = []
  await using ground = await openGround((_, index) => {
    lengths.push(ground.agent.session.fold.entries.length)
    return index === 0 ? { calls: [call('list_files', {}), call('read_file', { path: 'none' })] } : { text: 'ok' }
  })
  await all(ground.agent.run('go'))
  // System prompt and request; then the answer and two results as well.
  assert.deepEqual(lengths, [2, 5])
})

test('calls of one step run at the same time', async () => {
  let running = 0
  let most = 0
  const open = Promise.withResolvers<void>()
  const meet = defineTool({
    name: 'meet',
    description: 'Waits for the other.',
    input: z.object({}),
    run: async () => {
      most = Math.max(most, ++running)
      if (running === 2) open.resolve()
      await open.promise
      return 'met'
    },
  })
  await using ground = await openGround([{ calls: [call('meet', {}), call('meet', {})] }, { text: 'ok' }], {
    tools: [meet],
  })
  const events = await all(ground.agent.run('go'))
  assert.equal(most, 2)
  assert.equal(only(events, 'result').length, 2)
})

test('arguments that are not JSON give an error result for the model', async () => {
  for (const provider of ['openai-compatible', 'anthropic'] as const) {
    await using ground = await openGround(
      [
        { calls: [{ name: 'read_file', input: {}, arguments: '{"path": "a.t' }] },
        { calls: [call('read_file', { path: 7 })] },
        { calls: [call('no_such_tool', {})] },
        { text: 'sorry' },
      ],
      { provider },
    )
    const events = await all(ground.agent.run('go'))
    const [broken, wrong, unknown] = only(events, 'result')
    assert.ok(broken?.isError && wrong?.isError && unknown?.isError)
    assert.match(broken.text, /not a JSON object, so nothing was done: \{"path": "a\.t/)
    assert.match(wrong.text, /Invalid arguments for read_file:\n- path/)
    assert.match(unknown.text, /There is no tool no_such_tool\. There are: read_file/)
    assert.ok(ground.upstream.requests[1]!.body.includes('not a JSON object'))
    assert.equal(doneOf(events).reason, 'answered')
    assert.deepEqual((await ground.agent.session.verify()).violations, [])
  }
})

test('calls with repeated ids get new ids', async () => {
  await using ground = await openGround([
    { calls: [call('list_files', {}, 'call_0')] },
    { calls: [call('list_files', {}, 'call_0')] },
    { text: 'ok' },
  ])
  const events = await all(ground.agent.run('go'))
  assert.equal(doneOf(events).reason, 'answered')
  assert.equal(new Set(only(events, 'call').map(({ id }) => id)).size, 2)
})

function hangingTool() {
  let aborted = false
  const hang = defineTool({
    name: 'hang',
    description: 'Never ends.',
    input: z.object({}),
    run: (_, { signal }) => new Promise<string>(() => signal?.addEventListener('abort', () => (aborted = true))),
  })
  return { hang, isAborted: () => aborted }
}

test('a tool that hangs is abandoned, and the model is told', async () => {
  const { hang, isAborted } = hangingTool()
  await using ground = await openGround([{ calls: [call('hang', {}), call('list_files', {})] }, { text: 'ok' }], {
    tools: [hang],
    limits: { toolSeconds: 0.05 },
  })
  const events = await all(ground.agent.run('go'))
  const result = only(events, 'result').find(({ name }) => name === 'hang')
  assert.match(result!.text, /hang did not end within 0\.05 s and was stopped/)
  assert.ok(result!.isError && isAborted())
  assert.equal(doneOf(events).reason, 'answered')
})

test('an exception of a tool is an error result, and the turn continues', async () => {
  const broken = defineTool({
    name: 'broken',
    description: 'Throws.',
    input: z.object({}),
    run: () => {
      throw new TypeError('oops')
    },
  })
  await using ground = await openGround([{ calls: [call('broken', {})] }, { text: 'ok' }], { tools: [broken] })
  const events = await all(ground.agent.run('go'))
  assert.equal(only(events, 'result')[0]?.text, 'broken failed: oops')
  assert.equal(doneOf(events).reason, 'answered')
})

test('limits on steps, tokens and money end a turn, and the session can continue', async () => {
  const endless = { calls: [call('list_files', {})], usage: { input: 1_000_000, output: 10 } }
  for (const [limits, reason] of [
    [{ steps: 3 }, 'steps'],
    [{ tokens: 2_500_000 }, 'tokens'],
    [{ money: 5 }, 'money'],
  ] as const) {
    await using ground = await openGround(() => endless, { limits })
    const done = doneOf(await all(ground.agent.run('go')))
    assert.deepEqual([done.reason, done.steps], [reason, 3])
    assert.match(done.message, /Stopped at the limit of/)
    assert.equal((await ground.agent.session.view({ plan: false })).waiting.length, 0)
    assert.equal(doneOf(await all(ground.agent.run('go on'))).reason, reason)
  }
})

test('stopping a turn ends the stream and the tools, and the session can continue', async () => {
  const stop = new AbortController()
  const hang = defineTool({
    name: 'hang',
    description: 'Never ends.',
    input: z.object({}),
    run: () => new Promise<string>(() => stop.abort()),
  })
  await using ground = await openGround([{ calls: [call('hang', {})] }, { text: 'Where was I?' }], { tools: [hang] })
  const events = await all(ground.agent.run('go', { signal: stop.signal }))
  assert.equal(doneOf(events).reason, 'aborted')
  assert.match(only(events, 'result')[0]!.text, /hang was stopped by the user/)
  assert.equal(doneOf(await all(ground.agent.run('and now?'))).message, 'Where was I?')
})

test('text that arrived before a stop is kept', async () => {
  await using ground = await openGround((_, index) =>
    index === 0 ? { text: 'Once upon a time there was', stallAfter: 2 } : { text: 'ok' },
  )
  assert.equal(doneOf(await stoppedAt('text', ground, 'tell me a story')).reason, 'aborted')
  await all(ground.agent.run('go on'))
  assert.match(ground.upstream.requests[1]!.body, /Once upon a.*\[Stopped by the user\]/)
})

test('when the reader leaves early, tools stop and the session stays complete', async () => {
  const { hang, isAborted } = hangingTool()
  await using ground = await openGround([{ calls: [call('hang', {}), call('list_files', {})] }, { text: 'ok' }], {
    tools: [hang],
  })
  for await (const event of ground.agent.run('go')) if (event.type === 'result') break
  assert.ok(isAborted())
  const events = await all(ground.agent.run('again'))
  assert.equal(doneOf(events).reason, 'answered')
  assert.equal(only(events, 'interrupted').length, 0)
  assert.deepEqual((await ground.agent.session.verify()).violations, [])
})

test('a second request during a turn is refused', async () => {
  await using ground = await openGround([{ text: 'ok' }])
  const first = ground.agent.run('one')
  await first.next()
  await assert.rejects(all(ground.agent.run('two')), { code: 'ALREADY' })
  await first.return(undefined)
})

test('the API key is sent to the provider and written nowhere', async () => {
  await using ground = await openGround([{ calls: [call('list_files', {})] }, { error: { status: 401, body: {} } }])
  const events = await all(ground.agent.run('go'))
  assert.equal(ground.upstream.requests[0]!.headers.authorization, 'Bearer a key that must not be kept')
  assert.doesNotMatch(JSON.stringify(events), /must not be kept/)
  assert.doesNotMatch(readFileSync(join(ground.home, 'ledger.sqlite'), 'latin1'), /must not be kept/)
  assert.match(doneOf(events).message, /401.*Check the key/)
})

test('a reopened session has its persona, and the agent continues in it', async () => {
  await using ground = await openGround([{ text: 'one' }, { text: 'two' }])
  await all(ground.agent.run('first'))
  assert.equal((await ground.pal.find('work'))?.about.client, 'palimpsest:tester')
  const again = await openAgent('work', ground.options)
  await all(again.run('second'))
  const texts = textsOf(ground.upstream.requests[1]!).map(({ role }) => role)
  assert.deepEqual(texts, ['system', 'user', 'assistant', 'user'])
  assert.equal((await again.cost()).calls, 2)
  assert.ok(existsSync(join(ground.root, 'workspace', 'SOUL.md')))
})
