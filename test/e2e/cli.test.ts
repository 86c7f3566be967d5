/** Every command, some of them as real processes: output, JSON, exit codes, and bad input. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { COMMANDS } from '../../src/doors/cli/commands.ts'
import { commandHelp } from '../../src/doors/cli/help.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { type Ran, runCli } from '../cli.ts'
import { openSmall } from '../small-session.ts'
import { CLI, ROOT, spawnCli } from './run-cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-cli-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const home = join(folder, 'home')
let homes = 0

/** A home with the small session, which the test may change. */
async function freshHome(own = join(folder, `home-${homes++}`)): Promise<string> {
  await using pal = await openPalimpsest({ home: own })
  await openSmall(pal)
  return own
}

const at = (...args: string[]) => runCli([...args, '--home', home])

async function json(...args: string[]) {
  const ran = await runCli([...args, '--json'])
  assert.equal(ran.stderr, '')
  assert.equal(ran.code, 0)
  return JSON.parse(ran.stdout)
}

/** One line on stderr with the code, nothing else, and no stack trace. */
function assertFails(ran: Ran, exit: number, code: string, message: RegExp): void {
  assert.equal(ran.code, exit, ran.stderr)
  assert.match(ran.stderr, /^palimpsest: [^\n]*\n$/)
  assert.match(ran.stderr, message)
  assert.ok(ran.stderr.endsWith(`(${code})\n`), ran.stderr)
  assert.doesNotMatch(ran.stderr + ran.stdout, /^\s+at .*:\d+:\d+/m)
}

before(() => freshHome(home))

describe('sample', () => {
  test('is created once and shown, and all suggested commands work', async () => {
    const own = join(folder, 'sampled')
    const { code, stdout } = await spawnCli(['sample', '--home', own])
    assert.equal(code, 0)
    assert.match(stdout, /\d+ edits save [\d,]+ tokens/)
    const tries = [...stdout.matchAll(/^ {2}npx palimpsest (.*?) {2}/gm)].map(match => match[1]!)
    assert.equal(tries.length, 4)
    for (const line of tries) {
      const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
      assert.deepEqual((await runCli(args)).code, 0, line)
    }
    assert.equal((await runCli(['sample', '--home', own])).code, 0)
    assert.equal((await json('verify', 'sample', '--home', own)).ok, true)
  })
})

describe('help', () => {
  test('lists every command and how to get more help', async () => {
    const { code, stdout } = await spawnCli(['--help'])
    assert.equal(code, 0)
    for (const { name, summary } of COMMANDS) assert.ok(stdout.includes(`  ${name} `) && stdout.includes(summary), name)
  })

  test('of each command has its usage, its options and an example', () => {
    for (const command of COMMANDS) {
      const { name, usage, options, examples } = command
      const help = commandHelp(command)
      assert.ok(help.startsWith(`Usage: palimpsest ${name} ${usage}`.trimEnd()), name)
      for (const option of Object.keys(options)) assert.ok(help.includes(`--${option}`), `${name} --${option}`)
      assert.ok(examples.length > 0 && examples.every(example => help.includes(example)), name)
    }
  })

  test('is also a command', async () => {
    assert.equal((await runCli(['help'])).stdout, (await runCli(['--help'])).stdout)
    assert.equal((await runCli(['help', 'show'])).stdout, (await runCli(['show', '-h'])).stdout)
  })

  test('loads neither tokenizer nor zod nor database', async () => {
    const { code, stderr } = await spawnCli(['--help'], {
      node: ['--import', join(import.meta.dirname, 'log-imports.ts')],
    })
    assert.equal(code, 0)
    const loaded = stderr.split('\n').filter(line => line !== '')
    assert.ok(loaded.some(url => url.endsWith('/src/doors/cli/commands.ts')))
    assert.deepEqual(
      loaded.filter(url => url.includes('/node_modules/') || url.endsWith('/o200k.json') || url === 'node:sqlite'),
      [],
    )
  })

  test('--version prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    assert.equal((await runCli(['--version'])).stdout, `${version}\n`)
  })
})

describe('sessions', () => {
  test('lists all sessions, as a table and as JSON', async () => {
    assert.match((await at('sessions')).stdout, /^SESSION .*\nsmall .* claude-sonnet-4-5\n$/)
    const { sessions } = await json('sessions', '--home', home)
    const [{ id, policy, model, length }] = sessions
    assert.deepEqual([sessions.length, id, policy, model, length], [1, 'small', 'none', 'claude-sonnet-4-5', 20])
    assert.deepEqual(await json('sessions', '--home', home, '--contains', 'nothing'), { sessions: [] })
  })

  test('takes the home from the environment, or .agent by default', async () => {
    assert.match((await runCli(['sessions'], { env: { PALIMPSEST_HOME: home } })).stdout, /small/)
    const { code, stderr } = await spawnCli(['sessions'], { cwd: folder })
    assert.deepEqual([code, stderr], [0, 'There are no sessions in .agent.\n'])
  })

  test('does not create a missing home', async () => {
    const none = join(folder, 'none')
    for (const args of [['sessions'], ['verify'], ['recall', 'word'], ['show', 'x']])
      await runCli([...args, '--home', none])
    assert.equal(existsSync(none), false)
  })
})

describe('show', () => {
  test('lists hidden parts with author, reason and savings', async () => {
    const { stdout } = await at('show', 'small')
    assert.match(stdout, /▲ e1 by agent: replace, saves [\d,]+ tokens/)
    assert.match(stdout, /▲ e2 by user: discard, saves [\d,]+ tokens/)
    assert.match(stdout, /#1 user pinned/)
    assert.match(stdout, /… \d+ more lines/)
  })

  test('shows whole texts with --full and originals with --original', async () => {
    assert.doesNotMatch((await at('show', 'small', '--full')).stdout, /more lines\n/)
    const { stdout } = await at('show', 'small', '--original', '--full')
    assert.match(stdout, /slow query 1204ms/)
    assert.match(stdout, /▲ e1 by agent: replace/)
  })

  test('gives slots, messages, ids and edits as JSON', async () => {
    const shown = await json('show', 'small', '--home', home)
    assert.deepEqual(Object.keys(shown).slice(0, 6), ['session', 'policy', 'entries', 'messages', 'tokens', 'saved'])
    const slot = shown.slots[7]
    assert.deepEqual([slot.from, slot.to, slot.pinned, slot.messages.length], [7, 7, false, 1])
    assert.match(slot.messages[0].ids[0], /^[0-9a-f]{8}$/)
    const [edit] = slot.edits
    assert.deepEqual([edit.id, edit.by, edit.why, edit.shows], ['e1', 'agent', 'replace', true])
    const original = await json('show', 'small', '--home', home, '--original', '--last', '2')
    assert.deepEqual(
      original.entries.map(({ entry }: { entry: number }) => entry),
      [15, 16],
    )
  })

  test('shows control characters as symbols', async () => {
    const own = join(folder, `home-${homes++}`)
    const pal = await openPalimpsest({ home: own })
    const text = 'evil \u001b[31mred\u001b]0;title\u0007 \u009b2J \u202edesrever'
    await (await pal.session('evil')).append({ role: 'user', parts: [{ type: 'text', text }] })
    await pal.close()
    const { stdout } = await runCli(['show', 'evil', '--home', own])
    assert.doesNotMatch(stdout, /[\u001b\u0007\u009b\u202e]/)
    assert.match(stdout, /evil ␛\[31mred/)
  })
})

describe('edits', () => {
  test('can be listed, undone and redone, in any order', async () => {
    const own = await freshHome()
    const { edits } = await json('edits', 'small', '--home', own)
    assert.deepEqual(
      edits.map(({ id, active, by }: { id: string; active: boolean; by: string }) => [id, active, by]),
      [
        ['e1', true, 'agent'],
        ['e2', true, 'user'],
      ],
    )
    const before = await json('show', 'small', '--home', own)
    assert.deepEqual((await json('undo', 'small', 'e1', '--home', own)).undone, ['e1'])
    assert.match((await runCli(['edits', 'small', '--home', own])).stdout, /^e1 +undone/m)
    assert.deepEqual((await json('undo', 'small', '--last', '--home', own)).undone, ['e2'])
    await json('redo', 'small', 'e1', 'e2', '--home', own)
    assert.deepEqual((await json('show', 'small', '--home', own)).slots, before.slots)
    assertFails(await runCli(['redo', 'small', 'e1', '--home', own]), 4, 'ALREADY', /already in force/)
    assertFails(await runCli(['undo', 'small', 'e9', '--home', own]), 3, 'EDIT_NOT_FOUND', /no edit e9/)
    assertFails(await runCli(['undo', 'small', '--home', own]), 2, 'INVALID_INPUT', /Name an edit/)
  })

  test('can be made from flags, from a file and from stdin', async () => {
    const own = await freshHome()
    const { slots } = await json('show', 'small', '--home', own)
    const id = (entry: number) => slots[entry].messages[0].ids[0]
    const flags = ['--discard', id(3), '--distill', `${id(5)}=All 14 pass.`]
    const made = await json('edit', 'small', ...flags, '--home', own)
    assert.deepEqual(
      made.edits.map((edit: { id: string; by: string; why: string }) => [edit.id, edit.by, edit.why]),
      [
        ['e3', 'user', 'discard'],
        ['e4', 'user', 'distill'],
      ],
    )
    assert.ok(made.tokensSaved > 0)
    const file = join(folder, 'targets.json')
    const target = { start: '> shop-reports@2.3.0', end: 'fail 0', replacement: 'all pass' }
    writeFileSync(file, JSON.stringify({ action: 'replace', targets: [target] }))
    assert.equal((await json('edit', 'small', '--file', file, '--home', own)).replacements[0].entry, 15)
    const piped = await runCli(['edit', 'small', '--file', '-', '--home', own], { input: JSON.stringify([[id(13)]]) })
    assert.match(piped.stdout, /^e6 {2}#13 /)
    assert.match(piped.stdout, /palimpsest undo small e6/)
  })

  test('can be made from suggestions', async () => {
    const own = await freshHome()
    const { suggestions } = await json('edit', 'small', '--suggest', '--home', own)
    assert.ok(suggestions[0].tokens > 50)
    assert.match((await runCli(['edit', 'small', '--suggest', '--home', own])).stdout, /^#5 package manager output/)
    const input = JSON.stringify([suggestions[0].operation])
    const { code, stdout } = await runCli(['edit', 'small', '--file', '-', '--home', own], { input })
    assert.equal(code, 0)
    assert.match(stdout, /#5 /)
  })

  test('that are invalid are refused with their error code, and nothing changes', async () => {
    const before = await json('edits', 'small', '--home', home)
    const edit = (...args: string[]) => at('edit', 'small', ...args)
    assertFails(await edit(), 2, 'INVALID_INPUT', /nothing to edit/)
    assertFails(await edit('--discard', 'ffffffff'), 3, 'PATTERN_NOT_FOUND', /ffffffff/)
    assertFails(await edit('--start', 'no such text', '--end', 'x'), 3, 'PATTERN_NOT_FOUND', /not in view/)
    assertFails(await edit('--start', 'Sunday is', '--end', 'back'), 4, 'MATCH_TOO_SHORT', /minimum 30 characters/)
    assertFails(await edit('--distill', 'abc'), 2, 'INVALID_INPUT', /--distill needs/)
    const broken = await runCli(['edit', 'small', '--file', '-', '--home', home], { input: '{' })
    assertFails(broken, 5, 'FORMAT_BROKEN', /stdin is not valid JSON/)
    const wrong = await runCli(['edit', 'small', '--file', '-', '--home', home], { input: '[{"start":1}]' })
    assertFails(wrong, 2, 'INVALID_INPUT', /list of targets/)
    assertFails(await edit('--file', join(folder, 'missing.json')), 3, 'FILE_NOT_FOUND', /Cannot read/)
    assert.deepEqual(await json('edits', 'small', '--home', home), before)
  })

  test('can be prevented by pins, which show lists and unpin removes', async () => {
    const own = await freshHome()
    assert.deepEqual(await json('pin', 'small', '3', '--home', own), {
      session: 'small',
      entry: 3,
      part: null,
      pinned: true,
    })
    assert.match((await runCli(['show', 'small', '--home', own])).stdout, /#3 tool pinned/)
    assert.equal((await json('unpin', 'small', '3', '--home', own)).pinned, false)
    assert.doesNotMatch((await runCli(['show', 'small', '--home', own])).stdout, /#3 tool pinned/)
    assertFails(await runCli(['pin', 'small', '99', '--home', own]), 3, 'ENTRY_NOT_FOUND', /0–16/)
  })

  test('fork copies entries, under an unused name', async () => {
    const own = await freshHome()
    const made = await json('fork', 'small', '--at', '7', '--as', 'other', '--home', own)
    assert.deepEqual(made, { session: 'other', parent: 'small', entries: 8 })
    assert.match((await runCli(['sessions', '--home', own])).stdout, /^other .* small$/m)
    assert.match((await runCli(['fork', 'small', '--home', own])).stdout, /^small-fork-1: 17 entries of small/)
    assertFails(await runCli(['fork', 'small', '--as', 'other', '--home', own]), 4, 'ALREADY', /other/)
  })
})

describe('looking into the past', () => {
  test('recall finds hidden text, in one session and in all', async () => {
    const { hits } = await json('recall', 'slow', 'query', '--home', home)
    const log = hits.find((hit: { entry: number }) => hit.entry === 7)
    assert.deepEqual([log.session, log.role, log.tool, log.inView], ['small', 'tool', 'run_command', false])
    const one = await json('recall', 'slow query', '--session', 'small', '--home', home)
    assert.deepEqual(one.hits, hits)
    assert.match((await at('recall', 'upper end')).stdout, /#16 assistant .* in view\n/)
    const none = await at('recall', 'zebra')
    assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'Nothing was found.\n'])
  })

  test('restore appends an original at the end', async () => {
    const own = await freshHome()
    const { restored } = await json('restore', 'small', 'e2', '--home', own)
    assert.equal(restored.entry, 9)
    assert.match((await runCli(['show', 'small', '--last', '1', '--home', own])).stdout, /\[Restored from entry 9\]/)
    assertFails(await runCli(['restore', 'small', 'nothing', '--home', own]), 3, 'EDIT_NOT_FOUND', /nothing/)
  })

  test('changelog lists file changes and their reasons', async () => {
    const { stdout } = await at('changelog', 'small')
    assert.match(stdout, /^- src\/report\.ts: the upper end of the week is exclusive/m)
    const { changes } = await json('changelog', 'small', '--home', home)
    assert.deepEqual(
      [changes.length, changes[0].path, changes[0].kind, changes[0].turn],
      [2, 'src/report.ts', 'edit', 5],
    )
  })

  test('file-at rebuilds a file byte for byte, or reports that it cannot', async () => {
    const earlier = await at('file-at', 'small', 'src/report.ts', '4')
    const later = await at('file-at', 'small', 'src/report.ts', '5')
    assert.equal(later.stdout, earlier.stdout.replace('addDays(from, 6)', 'addDays(from, 7)'))
    assert.match(later.stderr, /^Based on:\n {2}turn 4: read\n {2}turn 5: edited\n$/)
    assert.equal((await at('file-at', 'small', 'src/report.ts')).stdout, later.stdout)
    const unknown = await runCli(['file-at', 'small', 'src/other.ts', '5', '--json', '--home', home])
    assert.equal(unknown.code, 1)
    const { known, content, basis } = JSON.parse(unknown.stdout)
    assert.deepEqual([known, content, basis.length], [false, null, 1])
    assertFails(await at('file-at', 'small', 'a.ts', 'last'), 2, 'INVALID_INPUT', /TURN must be a whole number/)
  })
})

describe('verify', () => {
  test('checks one session or all', async () => {
    const one = await json('verify', 'small', '--home', home)
    assert.deepEqual(one, {
      ok: true,
      sessions: [{ session: 'small', events: 20, entries: 17, edits: 2, violations: [] }],
    })
    assert.deepEqual(await json('verify', '--home', home), one)
    assertFails(await at('verify', 'nobody'), 3, 'SESSION_NOT_FOUND', /nobody/)
  })

  test('finds a changed event, and still checks the other sessions', async () => {
    const own = await freshHome()
    await json('fork', 'small', '--at', '1', '--as', 'short', '--home', own)
    const db = new DatabaseSync(join(own, 'ledger.sqlite'))
    db.exec(`UPDATE events SET body = replace(body, 'npm test', 'npm TEST') WHERE body LIKE '%Now the tests%'`)
    db.close()
    const { code, stdout } = await runCli(['verify', '--home', own])
    assert.equal(code, 6)
    assert.match(stdout, /^damaged {2}small {2}.*does not match its hash.*\(LEDGER_CORRUPT\)$/m)
    assert.match(stdout, /^whole +short /m)
  })
})

describe('bad input', () => {
  test('with an unknown command suggests the nearest one', async () => {
    assertFails(await runCli(['shwo']), 2, 'INVALID_INPUT', /Did you mean show\?/)
    assertFails(await runCli(['xyzzy']), 2, 'INVALID_INPUT', /palimpsest --help/)
  })

  test('names the wrong option or argument', async () => {
    assertFails(await at('show', 'small', '--fulll'), 2, 'INVALID_INPUT', /no option --fulll. Did you mean --full\?/)
    assertFails(await at('show'), 2, 'INVALID_INPUT', /SESSION is missing/)
    assertFails(await at('show', 'a', 'b'), 2, 'INVALID_INPUT', /"b" is one argument too many/)
    assertFails(await at('sessions', '--limit', 'many'), 2, 'INVALID_INPUT', /--limit must be a whole number/)
  })

  test('names the missing session or ledger', async () => {
    assertFails(await at('show', 'nobody'), 3, 'SESSION_NOT_FOUND', /no session nobody/)
    const none = await runCli(['show', 'x', '--home', join(folder, 'none')])
    assertFails(none, 3, 'SESSION_NOT_FOUND', /no ledger in .*none/)
  })

  test('gives an error as JSON with --json: code, message and data', async () => {
    const { code, stdout, stderr } = await at('show', 'nobody', '--json')
    assert.deepEqual([code, stdout], [3, ''])
    const { error } = JSON.parse(stderr)
    assert.deepEqual([error.code, error.data], ['SESSION_NOT_FOUND', { session: 'nobody' }])
  })

  test('gives an error with its stack only with --debug', async () => {
    assert.match((await at('show', 'nobody', '--debug')).stderr, /\n\s+at .*:\d+:\d+/)
  })

  test('a newer database, or a file that is not a database, is not changed', async () => {
    const newer = await freshHome()
    const db = new DatabaseSync(join(newer, 'ledger.sqlite'))
    db.exec('PRAGMA user_version = 999')
    db.close()
    assertFails(await runCli(['sessions', '--home', newer]), 6, 'LEDGER_NEWER', /Update Palimpsest/)
    const text = mkdtempSync(join(folder, 'text-'))
    writeFileSync(join(text, 'ledger.sqlite'), 'no database '.repeat(200))
    assertFails(await runCli(['sessions', '--home', text]), 6, 'LEDGER_CORRUPT', /not a database/)
    assert.match(readFileSync(join(text, 'ledger.sqlite'), 'utf8'), /^no database/)
  })

  test('a home that cannot be created is an error', async () => {
    const file = join(folder, 'a-file')
    writeFileSync(file, '')
    assertFails(await runCli(['sample', '--home', join(file, 'x')]), 7, 'STORE_FAILED', /ENOTDIR|EEXIST/)
  })

  test('a database that another process has locked is an error after a wait', async () => {
    const own = await freshHome()
    const db = new DatabaseSync(join(own, 'ledger.sqlite'))
    db.exec('BEGIN IMMEDIATE')
    assertFails(
      await spawnCli(['undo', 'small', 'e1', '--home', own]),
      7,
      'STORE_LOCKED',
      /Another process has locked the database/,
    )
    db.exec('ROLLBACK')
    db.close()
    assert.equal((await runCli(['undo', 'small', 'e1', '--home', own])).code, 0)
  })
})

describe('the terminal', () => {
  test('gets colours only if they are allowed', async () => {
    const coloured = async (env: Record<string, string>) =>
      (await spawnCli(['show', 'small', '--home', home], { env })).stdout.includes('\u001b[')
    assert.equal(await coloured({}), false)
    assert.equal(await coloured({ FORCE_COLOR: '1' }), true)
    assert.equal(await coloured({ FORCE_COLOR: '1', NO_COLOR: '1' }), false)
    assert.equal(await coloured({ FORCE_COLOR: '0' }), false)
  })

  test('a closed pipe ends a long output quietly', async () => {
    const own = join(folder, `home-${homes++}`)
    const pal = await openPalimpsest({ home: own })
    const text = 'a line that is printed\n'.repeat(200_000)
    await (await pal.session('long')).append({ role: 'user', parts: [{ type: 'text', text }] })
    await pal.close()
    const child = spawn(process.execPath, [CLI, 'show', 'long', '--full', '--home', own])
    let stderr = ''
    child.stderr.on('data', chunk => (stderr += chunk))
    child.stdout.once('data', () => child.stdout.destroy())
    const code = await new Promise(resolve => child.on('close', resolve))
    assert.deepEqual([code, stderr], [0, ''])
  })
})
