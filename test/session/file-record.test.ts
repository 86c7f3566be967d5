/** The changelog and the state of files, from the journal of our own tools on real files. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openPalimpsest } from '../../src/session/engine.ts'
import { fileTools } from '../../src/tools/files.ts'
import { sessionJournal } from '../../src/tools/session-journal.ts'
import { runTool } from '../../src/tools/tool.ts'
import * as fc from '../property.ts'

const root = mkdtempSync(join(tmpdir(), 'file-record-'))
after(() => rmSync(root, { recursive: true, force: true }))
let made = 0

type Did = { name: string; input: Record<string, unknown> }

/** A session in which each step is one turn; `isClient` leaves the calls out, as an MCP client does. */
async function play(steps: readonly Did[], { isClient = false } = {}) {
  const folder = mkdtempSync(join(root, 'w-'))
  writeFileSync(join(folder, 'a.md'), '# A\n\n## One\n\nold\n\n## Two\n\nkept\n')
  const pal = await openPalimpsest({ home: ':memory:' })
  const session = await pal.session(`s${++made}`)
  const context = { root: folder, journal: sessionJournal(session), now: Date.now }
  const texts: (string | undefined)[] = []
  for (const [i, { name, input }] of steps.entries()) {
    const id = `c${i}`
    if (!isClient) await session.append({ role: 'assistant', parts: [{ type: 'tool-call', id, name, input }] })
    const { text, isError = false } = await runTool(fileTools.find(tool => tool.name === name)!, input, context)
    if (!isClient)
      await session.append({
        role: 'tool',
        parts: [{ type: 'tool-result', id, name, output: text, ...(isError ? { isError } : {}) }],
      })
    try {
      texts.push(readFileSync(join(folder, 'a.md'), 'utf8'))
    } catch {
      texts.push(undefined)
    }
  }
  return { pal, session, texts }
}

const SECTION = { path: 'a.md', section_header: '## One', new_content: 'new\n', intent: ' ' }
const EDIT = { path: 'a.md', old_string: 'kept', new_string: 'changed', intent: 'Say it\n  better' }

test('files written by our tools are known at every turn: sections, undone edits, files that were never read', async () => {
  const { pal, session, texts } = await play([
    { name: 'update_section', input: SECTION },
    { name: 'edit_file', input: EDIT },
    { name: 'undo_edit', input: { path: 'a.md' } },
    { name: 'undo_edit', input: { path: 'a.md' } },
    { name: 'append_to_file', input: { path: 'a.md', content: 'end\n' } },
  ])
  for (const [i, text] of texts.entries()) {
    assert.equal((await session.fileStateAt('a.md', i + 1)).content, text, `turn ${i + 1}`)
  }
  assert.match((await session.fileStateAt('a.md', 3)).basis.join(), /turn 3: an edit was undone/)
  assert.equal((await session.changelog()).text, '- a.md: edited')
  await pal.close()
})

test('intents are readable: empty ones are left out, line breaks become spaces', async () => {
  const { pal, session } = await play([
    { name: 'update_section', input: SECTION },
    { name: 'edit_file', input: EDIT },
  ])
  assert.equal((await session.changelog()).text, '- a.md: edited\n- a.md: Say it better')
  await pal.close()
})

test('a client that does not send its calls has a changelog and file states, too', async () => {
  const { pal, session, texts } = await play(
    [
      { name: 'edit_file', input: EDIT },
      { name: 'write_file', input: { path: 'b.md', content: 'b' } },
      { name: 'update_section', input: SECTION },
    ],
    { isClient: true },
  )
  assert.equal((await session.changelog()).text, '- a.md: Say it better\n- b.md: written\n- a.md: edited')
  assert.equal((await session.fileStateAt('a.md', 0)).content, texts.at(-1))
  const { content, basis } = await session.fileStateAt('b.md', 0)
  const doubt = 'commands were not considered: the conversation is not in this session'
  assert.deepEqual([content, basis.at(-1)], ['b', doubt])
  assert.ok(basis.every(line => !line.startsWith('turn ')))
  await pal.close()
})

test('law: the state at a turn is that of the disk, and an undone edit is in no changelog', async () => {
  const step = fc.oneof(
    fc.constant({ name: 'undo_edit', input: { path: 'a.md' } }),
    fc.string().map(content => ({ name: 'append_to_file', input: { path: 'a.md', content: `${content}.` } })),
    fc.string().map(text => ({ name: 'update_section', input: { ...SECTION, new_content: `${text}.\n` } })),
    fc.string().map(content => ({ name: 'write_file', input: { path: 'a.md', content } })),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async steps => {
      const { pal, session, texts } = await play(steps)
      const isWritten = (await session.files()).some(({ action }) => action === 'write')
      for (const [i, text] of texts.entries()) {
        const { content } = await session.fileStateAt('a.md', i + 1)
        if (content !== undefined) assert.equal(content, text)
      }
      if (isWritten) assert.equal((await session.fileStateAt('a.md', steps.length)).content, texts.at(-1))
      const before = '# A\n\n## One\n\nold\n\n## Two\n\nkept\n'
      if ((await session.changelog()).text === '') assert.equal(texts.at(-1) ?? before, before)
      await pal.close()
    }),
    { numRuns: 30 },
  )
})
