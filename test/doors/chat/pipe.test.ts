/** The chat in a pipe, as a script sees it, with the real agent, ledger, memory and files. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { partId } from '../../../src/view/shown-texts.ts'
import { runCli } from '../../cli.ts'
import { startUpstream, type Turn } from '../../upstream.ts'
import { freshPlace, type Place, startChat, untilThere } from './driven-chat.ts'

const LIMIT = { timeout: 600_000 }

async function json({ home, env }: Place, args: string[]) {
  const { stdout, stderr, code } = await runCli([...args, '--json', '--home', home], { env })
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

const said = (text: string): Turn => ({ text, usage: { input: 1000, cacheRead: 3000, output: 50 } })
const command = (line: string): Turn => ({ calls: [{ name: 'run_command', input: { command: line } }] })

describe('palimpsest chat in a pipe', LIMIT, () => {
  test('runs the demo: files, commands that need approval, edits, a proposal', async () => {
    const place = freshPlace()
    const chat = startChat(place, ['--demo', '--session', 'tour'])
    for (const line of ['mend the cart', 'y', 'yes', '/context', '/undo', '/memory', 'approve', '/cost', '/quit'])
      chat.line(line)
    assert.equal(await chat.ended, 0, chat.errors)
    assert.doesNotMatch(chat.output, /\u001b/)
    assert.match(chat.output, /\d ✓ read_file src\/cart\.js {2}\d+ lines/)
    assert.match(chat.output, /\? Run this command\?\n {4}node --test\n {4}\[y\]es \[n\]o \[a\]lways/)
    assert.match(chat.output, /✓ run_command node --test {2}exit 1/)
    assert.match(chat.output, /~ \d edits? \(e\d.*\), [\d,]+ tokens/)
    assert.match(chat.output, /system prompt +█+/)
    assert.match(chat.output, /Undone: e\d\./)
    assert.match(chat.output, /1 memory proposal for you to decide on: \/memory/)
    assert.match(chat.output, /Approved: preferences/)
    const { blocks } = await json(place, ['memory', 'list'])
    assert.equal(blocks[0].label, 'preferences')
    const { versions } = await json(place, ['memory', 'history', 'preferences'])
    assert.equal(versions[0].by, 'user:ann')
    const { edits } = await json(place, ['edits', 'tour'])
    assert.equal(edits.filter((edit: { active: boolean }) => !edit.active).length, 1)
  })

  test('shows the price of removing a part, removes it and restores it', async () => {
    await using upstream = await startUpstream([command('seq 1 3000'), said('counted'), said('short'), said('long')])
    const chat = startChat(freshPlace(upstream), ['--yes'])
    const id = partId(3, 0, { type: 'tool-result' })
    for (const line of ['count', '/context', `/context ${id}`, `/context ${id} --yes`, 'and?', '/undo', 'and now?'])
      chat.line(line)
    chat.end()
    assert.equal(await chat.ended, 0, chat.errors)
    assert.match(chat.output, new RegExp(`#3 {2}${id} +[\\d,]+ {2}run_command`))
    assert.match(
      chat.output,
      /Removing 1 part of \S+ saves [\d,]+ tokens and \$[\d.]+ with every call\.[\s\S]*Removed\./,
    )
    const has = upstream.requests.map(({ body }) => body.includes('\\n2999\\n'))
    assert.deepEqual(has, [false, true, false, true])
  })

  test('prints Markdown unchanged', async () => {
    await using upstream = await startUpstream([said('# Title\n\n| a | b |\n|---|---|\n| 1 | **2** |\n')])
    const chat = startChat(freshPlace(upstream))
    chat.line('hello')
    chat.end()
    assert.equal(await chat.ended, 0, chat.errors)
    assert.ok(chat.output.endsWith('# Title\n\n| a | b |\n|---|---|\n| 1 | **2** |\n'), chat.output)
  })

  test('a line that ends with a backslash continues on the next line', async () => {
    await using upstream = await startUpstream([said('understood')])
    const chat = startChat(freshPlace(upstream))
    chat.line('first \\')
    chat.line('second \\\\')
    chat.end()
    await chat.ended
    const { messages } = upstream.requests[0]!.json
    assert.deepEqual(messages.at(-1), { role: 'user', content: 'first \nsecond \\\\' })
    assert.equal(upstream.requests.length, 1)
  })

  test('an unanswered question counts as no, and the next request is not taken as its answer', async () => {
    await using upstream = await startUpstream([command('touch made'), said('I leave it.'), said('And now this.')])
    const place = freshPlace(upstream)
    const chat = startChat(place)
    chat.line('make a file')
    chat.line('you may answer something else')
    chat.end()
    assert.equal(await chat.ended, 0, chat.errors)
    assert.match(chat.output, /✗ run_command touch made .*was not run/)
    assert.equal(existsSync(join(place.root, 'made')), false)
    assert.equal(upstream.requests[2]!.json.messages.at(-1).content, 'you may answer something else')
  })

  test('"always" allows the same command with other arguments, but no further rights', async () => {
    const lines = ['ls -a', 'ls -l src', 'ls; touch made']
    await using upstream = await startUpstream([...lines.map(command), said('done')])
    const place = freshPlace(upstream)
    const chat = startChat(place)
    chat.line('look')
    chat.line('a')
    chat.line('n')
    chat.end()
    assert.equal(await chat.ended, 0, chat.errors)
    assert.match(chat.output, /\(always: "ls" and "ls \*"\)/)
    assert.equal(chat.output.match(/Run this command\?/g)?.length, 2)
    assert.equal(existsSync(join(place.root, 'made')), false)
  })

  test('--yes runs commands without asking, and decides no memory proposal', async () => {
    const place = freshPlace()
    const chat = startChat(place, ['--demo', '--yes'])
    chat.line('mend the cart')
    chat.end()
    assert.equal(await chat.ended, 0, chat.errors)
    assert.doesNotMatch(chat.output, /Run this command/)
    const { proposals } = await json(place, ['memory', 'proposals'])
    assert.equal(proposals.length, 1)
    assert.deepEqual((await json(place, ['memory', 'list'])).blocks, [])
  })

  test('Ctrl-C stops the turn and keeps the session', async () => {
    await using upstream = await startUpstream([command('echo begun >> log; sleep 60'), said('Going on.')])
    const place = freshPlace(upstream)
    const chat = startChat(place, ['--yes', '--session', 's'], { isProcess: true })
    chat.line('wait for it')
    await untilThere(join(place.root, 'log'))
    chat.kill('SIGINT')
    await chat.waitFor('Stopped. The session is kept')
    chat.line('never mind')
    await chat.waitFor('Going on.')
    chat.end()
    assert.equal(await chat.ended, 0, chat.errors)
    assert.equal((await json(place, ['verify', 's'])).ok, true)
  })

  test('a chat killed during a command reports that on restart, and does not run the command again', async () => {
    await using upstream = await startUpstream([
      command('echo begun >> log; sleep 60'),
      said('I looked, and it had begun.'),
    ])
    const place = freshPlace(upstream)
    const first = startChat(place, ['--yes', '--session', 's'], { isProcess: true })
    first.line('do it once')
    await untilThere(join(place.root, 'log'))
    first.kill('SIGKILL')
    await first.ended
    const second = startChat(place, ['--yes', '--resume'])
    second.line('/continue')
    await second.waitFor('› do it once')
    await second.waitFor('The last turn was interrupted.')
    await second.waitFor('↯ interrupted last time and not run again: run_command')
    await second.waitFor('I looked, and it had begun.')
    second.end()
    assert.equal(await second.ended, 0, second.errors)
    assert.equal(readFileSync(join(place.root, 'log'), 'utf8'), 'begun\n')
    assert.match(JSON.stringify(upstream.requests[1]!.json.messages.at(-1)), /interrupted/)
  })

  test('SIGTERM ends the running command and then the chat', async () => {
    await using upstream = await startUpstream([command('echo $$ > p; mv p pid; sleep 60')])
    const place = freshPlace(upstream)
    const chat = startChat(place, ['--yes', '--session', 's'], { isProcess: true })
    chat.line('wait for it')
    const file = join(place.root, 'pid')
    await untilThere(file)
    chat.kill('SIGTERM')
    assert.equal(await chat.ended, 143, chat.errors)
    const pid = Number(readFileSync(file, 'utf8'))
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
    assert.equal((await json(place, ['verify', 's'])).ok, true)
  })

  test('an error of the model is shown, and the chat continues', async () => {
    const error = { status: 401, body: { error: { message: 'bad key' } } }
    await using upstream = await startUpstream([{ error }, said('Better.')])
    const chat = startChat(freshPlace(upstream))
    chat.line('hello')
    await chat.waitFor(/bad key/)
    chat.line('again')
    await chat.waitFor('Better.')
    chat.end()
    assert.equal(await chat.ended, 0, chat.errors)
  })

  test('sessions can be forked, left, found again and exported', async () => {
    await using upstream = await startUpstream(() => said('All right.'))
    const place = freshPlace(upstream)
    writeFileSync(join(place.root, 'taken.json'), '')
    const chat = startChat(place, ['--session', 'one'])
    const lines = [
      'hello',
      '/fork two',
      '/clear',
      '/resume tw',
      '/resume two',
      '/export taken.json',
      '/export talk.json',
    ]
    for (const line of [
      ...lines,
      '/export talk.md',
      '/sessions',
      '/model',
      '/persona',
      '/edit',
      '/etc/hosts is a file',
      '/quit',
    ])
      chat.line(line)
    assert.equal(await chat.ended, 0, chat.errors)
    assert.match(chat.output, /palimpsest two · gpt-4\.1/)
    assert.match(chat.output, /There is no session tw\. Did you mean two\?/)
    assert.match(chat.output, /taken\.json: the file already exists/)
    assert.match(chat.output, /There is no command \/edit\. Did you mean \/edits\?/)
    assert.match(chat.output, /› default/)
    const exported = JSON.parse(readFileSync(join(place.root, 'talk.json'), 'utf8'))
    assert.deepEqual(
      exported.entries.map(({ message }: { message: { role: string } }) => message.role),
      ['system', 'user', 'assistant'],
    )
    assert.match(
      readFileSync(join(place.root, 'talk.md'), 'utf8'),
      /^# two\n\n## user\n\nhello\n\n## assistant\n\nAll right\.\n$/,
    )
    assert.equal(upstream.requests.at(-1)!.json.messages.at(-1).content, '/etc/hosts is a file')
    const listed = await startList(place)
    assert.match(listed, /^SESSION[\s\S]*two[\s\S]*one/)
  })

  test('/compact shows what it would summarise, summarises on confirmation, and can be undone', async () => {
    const long = 'All of this has been looked at and nothing was found in it. '.repeat(40)
    await using upstream = await startUpstream(() => said(long))
    const place = freshPlace(upstream)
    const chat = startChat(place, ['--session', 's'])
    const requests = Array.from({ length: 6 }, (_, i) => `request number ${i}`)
    for (const line of [...requests, '/pin 3', '/unpin 3', '/compact 1-4', 'no', '/compact', 'yes', '/quit'])
      chat.line(line)
    assert.equal(await chat.ended, 0, chat.errors)
    assert.match(chat.output, /#3 is pinned[\s\S]*#3 can be edited again/)
    assert.match(chat.output, /Entries #1–#4, [\d,]+ tokens in view, become one summary/)
    const id = /(e\d+): [\d,]+ tokens saved\. Undo: \/undo/.exec(chat.output)?.[1] ?? ''
    const compacted = await json(place, ['show', 's'])
    const again = startChat(place, ['--resume'])
    for (const line of [`/undo ${id}`, '/edits', '/quit']) again.line(line)
    assert.equal(await again.ended, 0, again.errors)
    assert.match(again.output, new RegExp(`Undone: ${id}\\.[\\s\\S]*${id} +undone +user`))
    const whole = await json(place, ['show', 's'])
    assert.ok(whole.tokens > compacted.tokens, `${compacted.tokens} of ${whole.tokens}`)
  })

  test('switching the model or persona applies from the next answer on, in the same session', async () => {
    await using upstream = await startUpstream(() => said('Yes.'))
    const chat = startChat(freshPlace(upstream), ['--session', 's'])
    for (const line of [
      'one',
      '/model gpt-4o',
      'two',
      '/persona reviewer',
      'three',
      '/persona nobody',
      'four',
      '/quit',
    ])
      chat.line(line)
    assert.equal(await chat.ended, 0, chat.errors)
    const models = upstream.requests.map(({ json }) => json.model)
    assert.deepEqual(models, ['gpt-4.1', 'gpt-4o', 'gpt-4o', 'gpt-4o'])
    const prompts = new Set(upstream.requests.map(({ json }) => json.messages[0].content))
    assert.equal(prompts.size, 2)
    assert.match(chat.output, /There is no persona nobody; there are/)
    assert.equal(upstream.requests[3]!.json.messages.length, 8)
  })

  test("the agent continues in a copy of another client's session", async () => {
    await using upstream = await startUpstream(() => said('Yes.'))
    const place = freshPlace(upstream)
    await using pal = await openPalimpsest({ home: place.home })
    const theirs = await pal.session('theirs', { policy: 'none', about: { client: 'claude-code' } })
    await theirs.append({ role: 'user', parts: [{ type: 'text', text: 'from elsewhere' }] })
    for (const args of [['--fork', 'theirs'], ['--resume']]) {
      const chat = startChat(place, args)
      for (const line of ['go on', '/quit']) chat.line(line)
      assert.equal(await chat.ended, 0, chat.errors)
    }
    const sessions = await pal.sessions()
    assert.deepEqual(
      sessions.map(({ id, policy, about }) => ({ id, policy, client: about.client })),
      [
        { id: 'theirs-fork-1', policy: 'none', client: 'palimpsest:default' },
        { id: 'theirs', policy: 'none', client: 'claude-code' },
      ],
    )
    assert.match(upstream.requests[1]!.body, /from elsewhere.*go on.*go on/)
  })

  test('two options that choose a session are refused, and a missing key is explained', async () => {
    const place = freshPlace()
    const both = startChat(place, ['--resume', '--session', 'x'])
    assert.equal(await both.ended, 2)
    assert.match(both.errors, /one of --session, --resume/)
    const none = startChat(place)
    assert.notEqual(await none.ended, 0)
    assert.match(none.errors, /--demo\. \(MODEL_MISSING\)/)
  })
})

async function startList(place: Place): Promise<string> {
  const list = startChat(place, ['--list'])
  assert.equal(await list.ended, 0, list.errors)
  return list.output
}
