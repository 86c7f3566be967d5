import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { INTERNAL_EXIT, runCli } from '../../../src/doors/cli/main.ts'
import { type Command, defineCommand, jsonIn, readInput, wholeNumber } from '../../../src/doors/terminal/command.ts'
import { PalimpsestError } from '../../../src/model/errors.ts'

const onLinux = process.platform === 'linux' ? false : 'only Linux has a device that is always full'

/** The error of a disk without space. */
function fullDisk(): unknown {
  try {
    return writeFileSync('/dev/full', 'x')
  } catch (error) {
    return error
  }
}

function world(input = '') {
  const written = { stdout: '', stderr: '' }
  const io = {
    stdin: Readable.from([input]),
    stdout: { write: (text: string) => (written.stdout += text), isTTY: true },
    stderr: { write: (text: string) => (written.stderr += text) },
    env: {},
  }
  return { io, written }
}

async function run(command: Command, ...argv: string[]) {
  const { io, written } = world()
  const code = await runCli(argv, io, [command])
  return { code, ...written }
}

const failing = (error: unknown) =>
  defineCommand({
    name: 'fail',
    summary: 'fail',
    usage: '',
    examples: ['palimpsest fail'],
    options: {},
    run: () => Promise.reject(error),
  })

const echo = defineCommand({
  name: 'echo',
  summary: 'say it again',
  usage: 'FIRST [MORE...]',
  examples: ['palimpsest echo a'],
  options: {
    loud: { type: 'boolean', about: 'in capitals' },
    times: { type: 'string', value: 'N', about: 'how often' },
  },
  async run({ args, values, home }) {
    const said = values.loud ? args.map(arg => arg.toUpperCase()) : args
    return { json: { said, times: values.times, home }, text: paint => [paint.bold(said.join(' '))], exit: 1 }
  },
})

describe('a failure', () => {
  test("is reported as internal or as the caller's, never with a stack", async () => {
    const ours = await run(failing(new TypeError('x is not a function')), 'fail')
    assert.equal(ours.code, INTERNAL_EXIT)
    assert.match(ours.stderr, /^palimpsest: This is a bug in palimpsest: x is not a function\.[^\n]*\(INTERNAL\)\n$/)
    const theirs = await run(failing(new PalimpsestError('STORE_FULL', 'The disk is full.')), 'fail')
    assert.deepEqual([theirs.code, theirs.stderr], [7, 'palimpsest: The disk is full. (STORE_FULL)\n'])
  })

  test('of a full disk is not called a bug', { skip: onLinux }, async () => {
    const full = await run(failing(fullDisk()), 'fail')
    assert.deepEqual([full.code, full.stderr], [7, 'palimpsest: The disk is full. Free some space. (STORE_FULL)\n'])
  })

  test('has its stack and its cause with --debug', async () => {
    const error = new PalimpsestError('STORE_FAILED', 'no', {}, new Error('the deeper reason'))
    assert.match(
      (await run(failing(error), 'fail', '--debug')).stderr,
      /\n\s+at [\s\S]*caused by: Error: the deeper reason/,
    )
  })

  test('that is not an Error is still one line', async () => {
    assert.match((await run(failing('just words'), 'fail')).stderr, /^palimpsest: [^\n]*just words[^\n]*\n$/)
  })

  test('cannot send control characters from quoted text to the terminal', async () => {
    const { stderr } = await run(failing(new PalimpsestError('INVALID_INPUT', 'bad \u001b[2J')), 'fail')
    assert.doesNotMatch(stderr, /\u001b/)
  })
})

describe('a command', () => {
  test('gets its arguments and options; global options may come before or after its name', async () => {
    const { code, stdout } = await run(echo, '--home', '/h', '--json', 'echo', 'a', '--loud', 'b', '--times', '2')
    assert.equal(code, 1)
    assert.deepEqual(JSON.parse(stdout), { said: ['A', 'B'], times: '2', home: '/h' })
  })

  test('writes in colour on a terminal', async () => {
    assert.equal((await run(echo, 'echo', 'a')).stdout, '\u001b[1ma\u001b[22m\n')
  })

  test('takes as many arguments as its usage says', async () => {
    assert.match(
      (await run(echo, 'echo')).stderr,
      /FIRST is missing\. Usage: (?:npx )?palimpsest echo FIRST \[MORE\.\.\.\]/,
    )
    assert.equal((await run(echo, 'echo', 'a', 'b', 'c', 'd')).code, 1)
  })

  test('takes everything after -- as arguments', async () => {
    const { stdout } = await run(echo, 'echo', '--json', '--', '--loud')
    assert.deepEqual(JSON.parse(stdout).said, ['--loud'])
  })
})

test('input is read from stdin for -, and numeric options must be whole numbers', async () => {
  assert.equal(await readInput('-', world('hello').io), 'hello')
  assert.throws(() => jsonIn('{', '-'), { code: 'FORMAT_BROKEN' })
  assert.equal(wholeNumber('12', 'N'), 12)
  for (const wrong of ['', '-1', '1.5', '1e3', 'x', '9'.repeat(30)]) {
    assert.throws(() => wholeNumber(wrong, 'N'), { code: 'INVALID_INPUT' })
  }
})
