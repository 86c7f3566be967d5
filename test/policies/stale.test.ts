import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { after, describe, test } from 'node:test'
import { anchor } from '../../src/policies/anchor.ts'
import { offload } from '../../src/policies/offload.ts'
import { everyTurn } from '../../src/policies/policy.ts'
import { CRITICAL_TOOLS, staleOutput, staleText } from '../../src/policies/stale-output.ts'
import { type OpenOptions, openPalimpsest } from '../../src/session/engine.ts'
import { bash, editsBy, openWith, play, says, shown, step, user } from './talk.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-stale-'))
after(() => rmSync(folder, { recursive: true, force: true }))

describe('stale output', () => {
  test('is replaced by one line with 150 characters, the length and the tool', () => {
    const output = `const express = require('express')\nconst app = express()\n${'x'.repeat(3000)}`
    assert.equal(
      staleText('read_file', output, 150),
      `[Stale output from read_file — compressed] const express = require('express') const app = express() ${'x'.repeat(93)}... (3057 chars, use read_file if needed)`,
    )
  })

  test('in the last 15 messages stays whole; older output is compressed', async () => {
    const session = await openWith([staleOutput()])
    const output = 'y'.repeat(2847)
    await play(session, user('go'), ...bash('one', output))
    for (let i = 0; i < 14; i++) await play(session, says(`${i}`))
    assert.deepEqual(await shown(session), [output])
    await play(session, says('now'))
    assert.deepEqual(await shown(session), [staleText('bash', output, 150)])
  })

  test('of critical tools is never compressed', async () => {
    const browser = 'browser_visit browser_eval browser_fetch browser_screenshot'
    assert.equal(CRITICAL_TOOLS.join(' '), `${browser} db_query db_schema analyze_image desktop_screenshot`)
    const session = await openWith([staleOutput()])
    await play(session, user('go'))
    for (const name of CRITICAL_TOOLS) await play(session, ...step({ name, output: 'z'.repeat(1000) }))
    for (let i = 0; i < 16; i++) await play(session, says(`${i}`))
    assert.deepEqual(session.edits(), [])
  })

  test('shorter than its preview stays', async () => {
    const session = await openWith([staleOutput({ after: 1 })])
    await play(session, user('go'), ...bash('true', 'ok'), says('done'), user('next'))
    assert.deepEqual(await shown(session), ['ok'])
  })
})

describe('offload', () => {
  const open = async (name: string, more: OpenOptions = {}) => {
    const pal = await openPalimpsest({ home: join(folder, name), clock: () => 1_700_000_000_000 })
    return pal.session('s', { policy: everyTurn('test', [offload()]), ...more })
  }

  test('moves a result over 2,000 characters to a file; the first 400 and the path stay', async () => {
    const session = await open('plain')
    await play(session, user('go'), ...bash('a', 'q'.repeat(2000)), ...bash('b', 'r'.repeat(2001)))
    const path = `${join(folder, 'plain')}/overflow/overflow_1700000000000_bash.txt`
    assert.deepEqual(await shown(session), [
      'q'.repeat(2000),
      `${'r'.repeat(400)}\n... [2,001 chars in total, all of them in ${path}; read it in parts, with offset and limit or sed -n]`,
    ])
    assert.equal(readFileSync(path, 'utf8'), 'r'.repeat(2001))
  })

  test('moves no result that was read back from the file', async () => {
    const session = await open('back')
    await play(session, user('go'), ...bash('b', 'r'.repeat(5001)))
    const path = `${join(folder, 'back')}/overflow/overflow_1700000000000_bash.txt`
    const whole = 'r'.repeat(5001)
    const reads = [
      { name: 'read_file', input: { path }, output: whole },
      { name: 'Read', input: { file_path: path, offset: 1, limit: 2000 }, output: whole },
      { name: 'bash', input: { command: `cat ${path}` }, output: whole },
      { name: 'read_many_files', input: { paths: ['README.md', path] }, output: whole },
      { name: 'bash', input: { command: `cd /tmp && tail -n +20 ${path} | head -200` }, output: whole },
      { name: 'python', input: { code: `print(open('${path}').read())` }, output: whole },
      { name: 'context', input: { action: 'restore', hash: 'x' }, output: whole },
      { name: 'mcp__palimpsest__recall', input: { text: 'x' }, output: whole },
      { name: 'palimpsest_context', input: { action: 'restore' }, output: whole },
    ]
    for (const read of reads) await play(session, ...step(read))
    const back = (await shown(session)).slice(1)
    assert.deepEqual(
      back,
      reads.map(() => whole),
    )
  })

  test('gives a path that is valid in any working folder', async () => {
    const home = relative(process.cwd(), join(folder, 'relative'))
    const pal = await openPalimpsest({ home, clock: () => 1_700_000_000_000 })
    const session = await pal.session('s', { policy: everyTurn('test', [offload()]) })
    await play(session, user('go'), ...bash('b', 'r'.repeat(5001)))
    const path = /all of them in (\S+);/.exec((await shown(session))[0]!)![1]!
    assert.ok(isAbsolute(path))
    assert.equal(readFileSync(path, 'utf8'), 'r'.repeat(5001))
  })

  test('names recall to an agent that cannot read files, and moves nothing for an agent with neither', async () => {
    const long = 'r'.repeat(5001)
    const read = async (name: string, options: OpenOptions) => {
      const session = await open(name, options)
      await play(session, user('go'), ...bash('b', long))
      const text = (await shown(session))[0]!
      const id = /\(text="(\w+)"\)/.exec(text)?.[1]
      if (id !== undefined) assert.equal((await session.original(id)).text, long)
      return text.replace(/^r+/, '').replace(/"\w+"/, 'ID')
    }
    const file = join(folder, 'both', 'overflow', 'overflow_1700000000000_bash.txt')
    assert.equal(
      await read('both', { recallWith: 'mcp__palimpsest__recall' }),
      `\n... [5,001 chars in total, all of them in ${file}; read it in parts, with offset and limit or sed -n; or mcp__palimpsest__recall(text=ID) gives them]`,
    )
    const apart = { readsFiles: false }
    const byRecall = '\n... [5,001 chars in total, recall(text=ID) gives them]'
    assert.equal(await read('apart', apart), byRecall)
    assert.equal(await read('named', { ...apart, recallWith: 'recall' }), byRecall)
    assert.equal(await read('neither', { ...apart, recallWith: false }), '')
    for (const name of ['apart', 'named', 'neither']) assert.equal(existsSync(join(folder, name, 'overflow')), false)
  })

  test('for critical tools begins at 8,000, and keeps 4,000', async () => {
    const session = await open('critical')
    const visit = (output: string) => step({ name: 'browser_visit', input: { url: 'x' }, output })
    await play(session, user('go'), ...visit('s'.repeat(8000)), ...visit('t'.repeat(8001)))
    const [whole, cut] = await shown(session)
    assert.equal(whole, 's'.repeat(8000))
    assert.ok(cut!.startsWith(`${'t'.repeat(4000)}\n`))
    assert.match(cut!, /overflow_1700000000000_browser_visit\.txt; read it in parts/)
  })

  test('writes two results of the same moment to two files', async () => {
    const session = await open('twice')
    const long = (letter: string) => ({ name: 'bash', input: { command: letter }, output: letter.repeat(3000) })
    await play(session, user('go'))
    await session.append(...step(long('u'), long('v')))
    await session.view()
    const overflow = join(folder, 'twice', 'overflow')
    assert.equal(readFileSync(join(overflow, 'overflow_1700000000000_bash.txt'), 'utf8'), 'u'.repeat(3000))
    assert.equal(readFileSync(join(overflow, 'overflow_1700000000000_bash_2.txt'), 'utf8'), 'v'.repeat(3000))
  })

  test('keeps the result whole if the folder is not writable, and the view says so', async () => {
    const home = join(folder, 'blocked')
    mkdirSync(home)
    writeFileSync(join(home, 'overflow'), 'a file where the folder should be')
    const session = await open('blocked')
    await session.append(user('go'), ...bash('b', 'r'.repeat(2001)))
    const { report, messages } = await session.view()
    assert.deepEqual(
      report.map(({ rule }) => rule),
      ['file-not-kept'],
    )
    assert.match(report[0]!.message, /overflow\/overflow_1700000000000_bash\.txt cannot be written/)
    assert.equal(JSON.stringify(messages).includes('r'.repeat(2001)), true)
    assert.deepEqual(session.edits(), [])
  })

  test('overwrites no existing file', async () => {
    const first = await open('shared')
    await play(first, user('go'), ...bash('b', 'r'.repeat(2001)))
    const pal = await openPalimpsest({ home: join(folder, 'shared'), clock: () => 1_700_000_000_000 })
    const second = await pal.session('other', { policy: everyTurn('test', [offload()]) })
    await second.append(user('go'), ...bash('b', 'another text '.repeat(300)))
    assert.equal((await second.view()).report.length, 1)
    const path = join(folder, 'shared', 'overflow', 'overflow_1700000000000_bash.txt')
    assert.equal(readFileSync(path, 'utf8'), 'r'.repeat(2001))
  })

  test('does not change results that were sent before', async () => {
    const session = await open('late')
    await session.append(user('go'), ...bash('b', 'r'.repeat(5000)), says('done'))
    await session.view()
    assert.deepEqual(session.edits(), [])
    assert.equal(existsSync(join(folder, 'late', 'overflow')), false)
  })
})

describe('task anchor', () => {
  const anchors = async (session: Parameters<typeof shown>[0]) =>
    (await shown(session, 'user')).filter(text => text.startsWith('[TASK ANCHOR'))

  test('is added after every fifth tool call, with the goal and the number', async () => {
    const session = await openWith([anchor()])
    await play(session, user('Build a REST API for users'))
    for (let i = 0; i < 12; i++) await play(session, ...bash('x', 'ok'))
    assert.deepEqual(await anchors(session), [
      '[TASK ANCHOR — Reminder] Your CURRENT GOAL is: "Build a REST API for users"\nYou have made 5 tool calls. Stay focused. What is the next step?',
      '[TASK ANCHOR — Reminder] Your CURRENT GOAL is: "Build a REST API for users"\nYou have made 10 tool calls. Stay focused. What is the next step?',
    ])
    assert.deepEqual(
      editsBy(session, 'anchor').map(edit => edit.target),
      [
        { type: 'after', entry: 10 },
        { type: 'after', entry: 20 },
      ],
    )
  })

  test('is added after all results of a batch, never inside it', async () => {
    const session = await openWith([anchor()])
    await play(session, user('go'))
    const one = { name: 'bash', input: { command: 'x' }, output: 'ok' }
    await play(session, ...step(one, one, one), ...step(one, one, one))
    assert.deepEqual(
      editsBy(session, 'anchor').map(edit => edit.target),
      [{ type: 'after', entry: 8 }],
    )
    assert.match((await anchors(session))[0]!, /You have made 6 tool calls/)
  })

  test('names the last real request, not reminders that a client adds to user messages', async () => {
    const session = await openWith([anchor()])
    await play(session, user('first'), says('ok'), user('second\nwith two lines'))
    await play(session, user('<system-reminder>be nice</system-reminder>'))
    for (let i = 0; i < 5; i++) await play(session, ...bash('x', 'ok'))
    assert.match((await anchors(session))[0]!, /GOAL is: "second\nwith two lines"\nYou have made 5 tool calls/)
  })

  test('shortens a long request', async () => {
    const session = await openWith([anchor({ every: 1, goalChars: 20 })])
    await play(session, user('w'.repeat(500)), ...bash('x', 'ok'))
    assert.match((await anchors(session))[0]!, new RegExp(`GOAL is: "${'w'.repeat(19)}…"`))
  })
})
