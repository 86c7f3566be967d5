import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { textOf } from '../../src/model/leaves.ts'
import type { Message } from '../../src/model/types.ts'
import { presets } from '../../src/planner/presets.ts'
import { thrifty } from '../../src/planner/thrifty.ts'
import { placeOf } from '../../src/policies/policy.ts'
import { type OpenOptions, openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { partId } from '../../src/view/shown-texts.ts'

const home = mkdtempSync(join(tmpdir(), 'palimpsest-ids-'))
after(() => rmSync(home, { recursive: true, force: true }))

const LARGE = 'a line of output that differs from no other line at all\n'.repeat(60)
const ID = partId(2, 0, { type: 'tool-result' })

const open = async (options: OpenOptions, name = 'work', folder = ':memory:') =>
  (await openPalimpsest({ home: folder })).session(name, options)

async function ask(session: Session, ...outputs: string[]): Promise<void> {
  if (session.fold.entries.length === 0) await session.append({ role: 'user', parts: [{ type: 'text', text: LARGE }] })
  for (const output of outputs) {
    await session.view()
    const id = `call_${session.fold.entries.length}`
    const call: Message = {
      role: 'assistant',
      parts: [{ type: 'tool-call', id, name: 'bash', input: { command: 'npm test' } }],
    }
    await session.append(call, { role: 'tool', parts: [{ type: 'tool-result', id, name: 'bash', output }] })
  }
}

async function textsOf(session: Session): Promise<string[]> {
  return (await session.view()).messages.flatMap(message => message.parts.map(textOf))
}

test('large results end in their id, small results and other texts do not', async () => {
  const session = await open({ ids: true })
  await ask(session, LARGE, 'small')
  assert.deepEqual(await textsOf(session), [LARGE, 'npm test', `${LARGE}\n[id ${ID}]`, 'npm test', 'small'])
  assert.deepEqual(
    (await session.parts()).map(({ hash }) => hash).filter(hash => hash === ID),
    [ID],
  )
})

test('without the option no result has an id', async () => {
  const session = await open({})
  await ask(session, LARGE)
  assert.deepEqual((await session.view()).edits, [])
})

test('a result gets its id once, and a session keeps its option after a restart', async () => {
  const session = await open({ ids: true }, 'kept', home)
  await ask(session, LARGE)
  const before = await textsOf(session)
  assert.deepEqual(await textsOf(session), before)
  const again = await open({}, 'kept', home)
  assert.deepEqual(await textsOf(again), before)
  await ask(again, LARGE)
  assert.equal((await textsOf(again)).filter(text => text.includes('[id ')).length, 2)
  const off = await open({ ids: false }, 'kept', home)
  await ask(off, LARGE)
  assert.equal((await textsOf(off)).filter(text => text.includes('[id ')).length, 2)
})

test('a removed id stays removed, and a result sent without an id gets none', async () => {
  const session = await open({ ids: true })
  await ask(session, LARGE)
  const [edit] = (await session.view()).edits
  await session.undo(edit!.id)
  assert.ok(!(await textsOf(session)).join().includes('[id '))
  const late = await open({}, 'late', home)
  await ask(late, LARGE)
  await late.view()
  await late.append({ role: 'assistant', parts: [{ type: 'text', text: 'done' }] })
  const on = await open({ ids: true }, 'late', home)
  assert.deepEqual((await on.view()).edits, [])
})

test('results in parts get their id at the end of the last text', async () => {
  const session = await open({ ids: true })
  await ask(session)
  await session.append(
    { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'see', input: {} }] },
    {
      role: 'tool',
      parts: [
        {
          type: 'tool-result',
          id: 'c',
          name: 'see',
          output: [
            { type: 'text', text: LARGE },
            { type: 'image', mediaType: 'image/png', data: 'QQ==' },
            { type: 'text', text: 'end' },
          ],
        },
      ],
    },
  )
  const { messages } = await session.view()
  const [part] = messages.at(-1)!.parts
  assert.ok(part?.type === 'tool-result' && typeof part.output !== 'string')
  assert.deepEqual(
    part.output.map(inner => inner.type),
    ['text', 'image', 'text'],
  )
  assert.deepEqual(part.output.at(-1), { type: 'text', text: `end\n[id ${ID}]` })
})

test('thrifty shortens a result with an id like any other, and undo restores the id', async () => {
  const shortened: Record<string, string[]> = {}
  for (const ids of [false, true]) {
    const session = await open({ ids, policy: thrifty({ quote: 40_000 }), model: 'claude-sonnet-4-5' })
    for (let i = 0; i < 30; i++) {
      await ask(session, `run ${i}\n${LARGE.replaceAll('line', `line ${i}`)}`)
      await session.view()
    }
    const byThrifty = session.edits().filter(({ active, edit }) => active && edit.by === 'policy:thrifty')
    shortened[String(ids)] = [...new Set(byThrifty.map(({ edit }) => placeOf(edit.target)))].sort()
    assert.ok(byThrifty.length > 0, 'thrifty did something')
    const first = byThrifty.find(({ edit }) => edit.target.type === 'part' && edit.target.entry === 2)
    assert.ok(first, 'thrifty shortened the first result')
    for (const { edit, active } of session.edits()) {
      if (active && edit.by === 'policy:thrifty' && edit.target.type === 'part' && edit.target.entry === 2)
        await session.undo(edit.id)
    }
    if (ids)
      assert.ok((await session.view({ plan: false })).messages[2]!.parts.map(textOf)[0]!.endsWith(`\n[id ${ID}]`))
  }
  // Ids are tokens too, so the last batch may come a call earlier or later; otherwise the parts are the same.
  const [fewer, more] = [shortened['true']!, shortened['false']!].sort((one, other) => one.length - other.length)
  assert.ok(fewer!.length >= 10, `${fewer!.length} parts`)
  assert.deepEqual(
    fewer!.filter(place => !more!.includes(place)),
    [],
  )
})

for (const { name } of presets) {
  test(`${name} makes the same edits with ids as without them`, async () => {
    const shown: string[][] = []
    for (const ids of [false, true]) {
      const folder = join(home, `${name}-${ids}`)
      const session = await open({ ids, policy: name }, name, folder)
      await ask(session)
      for (let i = 0; i < 40; i++) {
        await session.view({ now: 1_000 * i })
        await session.append(...turn(i))
      }
      shown.push((await textsOf(session)).map(text => text.replace(/\n\[id \w{8}\]$/, '').replaceAll(folder, '')))
    }
    assert.deepEqual(shown[1], shown[0])
  })
}

/** Repeated reads of a few files, with runs and edits between them. */
function turn(i: number): Message[] {
  const id = `t${i}`
  const path = `src/file${i % 4}.ts`
  const steps: [name: string, input: unknown, output: string][] = [
    ['read_file', { path }, LARGE.replaceAll('line', `line of ${path}`)],
    ['bash', { command: 'npm test' }, `${LARGE.replaceAll('line', `test ${i}`).repeat(3)}exit code 0`],
    ['edit_file', { path, old_string: 'a', new_string: 'b', intent: `change ${i}` }, `Edited ${path}`],
  ]
  const [name, input, output] = steps[i % 3]!
  return [
    { role: 'assistant', at: 1_000 * i, parts: [{ type: 'tool-call', id, name, input }] },
    { role: 'tool', at: 1_000 * i, parts: [{ type: 'tool-result', id, name, output }] },
  ]
}
