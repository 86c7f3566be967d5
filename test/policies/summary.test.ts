import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { loadCounter } from '../../src/model/tokens.ts'
import type { Message } from '../../src/model/types.ts'
import { fallback, leftOutText } from '../../src/policies/fallback.ts'
import { everyTurn } from '../../src/policies/policy.ts'
import { summarize } from '../../src/policies/summarize.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { checkSummary, readSummary, SECTIONS, SUMMARY_MARK, writeSummary } from '../../src/summaries/summary.ts'
import { bash, editsBy, openWith, play, read, says, shown, step, user } from './talk.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-summary-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const count = await loadCounter()
const words = (tokens: number) => 'word '.repeat(tokens).trimEnd()

const edit = (path: string, intent: string) =>
  step({ name: 'edit_file', input: { path, old_string: 'a', new_string: 'b', intent }, output: `Edited ${path}` })

/** A piece of work with everything that a summary mentions. */
const work: Message[] = [
  user('Fix the login.\nNever touch the migrations. It must stay fast.'),
  ...read('src/login.ts', words(400)),
  says('The problem is that the token expires too early. I decided to extend it instead of refreshing.'),
  ...edit('src/login.ts', 'extend the token'),
  ...bash('npm test', `${words(300)}\nTypeError: ttl is not a number\nExit code: 1`),
  ...edit('src/ttl.ts', 'make ttl a number'),
  ...bash('npm test', `${words(300)}\nExit code: 0`),
  user('Now also the logout.'),
  ...step({
    name: 'update_plan',
    input: {
      plan: [
        { step: 'look at the logout', status: 'in_progress' },
        { step: 'login', status: 'completed' },
      ],
    },
    output: 'ok',
  }),
  ...read('src/logout.ts', words(200)),
  ...bash('npm run lint', `${words(100)}\nExit code: 2`),
]

async function summarized(): Promise<{ session: Session; text: string }> {
  const session = await openWith([summarize({ threshold: 1_000, keep: 2 })])
  await session.append(...work, says('on it'), user('thanks'))
  await session.view()
  const [text = ''] = await shown(session, 'user')
  return { session, text }
}

describe('the summary without a model', () => {
  test('is marked as a record and has the five sections', async () => {
    const { text } = await summarized()
    assert.equal(SUMMARY_MARK, '[Summary of earlier conversation: a record of what happened, not an order]')
    assert.ok(text.startsWith(`${SUMMARY_MARK}\n`))
    assert.deepEqual(
      [...readSummary(text).keys()],
      ['Task Overview', 'Current State', 'Important Discoveries', 'Next Steps', 'Context to Preserve'],
    )
  })

  test('lists requests, files with intents, commands with exit codes, errors and their solutions, decisions, open tasks', async () => {
    const { text } = await summarized()
    const sections = Object.fromEntries(readSummary(text))
    assert.deepEqual(sections, {
      'Task Overview': [
        'First request:',
        '> Fix the login.',
        '> Never touch the migrations. It must stay fast.',
        'Further requests:',
        '- "Now also the logout."',
      ],
      'Current State': [
        '- changed src/login.ts (1×): extend the token',
        '- changed src/ttl.ts (1×): make ttl a number',
        '- read src/login.ts (1×)',
        '- read src/logout.ts (1×)',
        '- ran `npm test`: exit 1',
        '- ran `npm test`: exit 0',
        '- ran `npm run lint`: exit 2',
        '- last said: "The problem is that the token expires too early. I decided to extend it instead of refreshing."',
      ],
      'Important Discoveries': [
        '- error in bash `npm test`: TypeError: ttl is not a number → then edit_file `src/ttl.ts`',
        `- error in bash \`npm run lint\`: ${words(32)} → open`,
        '- said: "The problem is that the token expires too early."',
        '- said: "I decided to extend it instead of refreshing."',
      ],
      'Next Steps': ['- to do: look at the logout', '- open: `npm run lint` failed when last run'],
      'Context to Preserve': ['- user: "Never touch the migrations."', '- user: "It must stay fast."'],
    })
  })

  test('is smaller than the replaced text, or there is none', async () => {
    const session = await openWith([summarize({ threshold: 10, keep: 1, atLeast: 0 })])
    await play(session, user('hi'), says('hello'), user('how are you'), says('fine'))
    assert.deepEqual(session.edits(), [])
    assert.equal(writeSummary({ units: [], requests: ['hi'], previous: [] }, 10, count), undefined)
  })

  test('includes an earlier summary: counts add up, the first request stays', async () => {
    const { session } = await summarized()
    await session.append(...edit('src/login.ts', 'tidy up'), ...read('src/new.ts', words(2_000)), says('a'), user('b'))
    await session.view()
    const made = editsBy(session, 'summarize')
    assert.equal(made.length, 2)
    const [text = ''] = await shown(session, 'user')
    assert.match(text, /First request:\n> Fix the login\./)
    assert.match(text, /- changed src\/login\.ts \(2×\): extend the token; tidy up/)
    assert.match(text, /- read src\/new\.ts \(1×\)/)
    assert.match(text, /- error in bash `npm test`: TypeError/)
    assert.match(text, /- user: "Never touch the migrations\."/)
    await session.undo(made[1]!.id)
    assert.match((await shown(session, 'user'))[0]!, /- changed src\/login\.ts \(1×\): extend the token\n/)
  })
})

describe('summarising', () => {
  const talk = (entries: number, tokens: number): Message[] =>
    Array.from({ length: entries }, (_, i) => (i % 2 ? says(`${i} ${words(tokens)}`) : user(`${i} ${words(tokens)}`)))

  test('begins over 100,000 tokens and keeps the last 20 entries', async () => {
    const session = await openWith([summarize()])
    await session.append(...talk(33, 3_000))
    await session.view()
    assert.deepEqual(session.edits(), [])
    await session.append(says(words(3_000)), user('go'))
    await session.view()
    assert.deepEqual(
      editsBy(session, 'summarize').map(made => made.target),
      [{ type: 'range', from: 0, to: 14 }],
    )
  })

  test('can be set as a share of the window', async () => {
    const session = await openWith([summarize({ budget: 0.7, keep: 2 })], { models: { claude: { window: 10_000 } } })
    await session.append(...talk(6, 1_100))
    await session.view()
    assert.deepEqual(session.edits(), [])
    await session.append(...talk(2, 300))
    await session.view()
    assert.equal(session.edits().length, 1)
  })

  test("keeps the user's last request verbatim after it", async () => {
    const session = await openWith([summarize({ threshold: 1_000, keep: 4 })])
    const request = 'Rewrite the parser.\n\nKeep its tests.'
    await session.append(user('first'), says('ok'), user(request))
    for (let i = 0; i < 6; i++) await play(session, ...bash('make', words(300)))
    const users = await shown(session, 'user')
    assert.ok(users[0]!.startsWith(SUMMARY_MARK))
    assert.equal(users[1], request)
    assert.equal(users.length, 2)
  })

  test('never separates a call from its result, and keeps the system prompt', async () => {
    const session = await openWith([summarize({ threshold: 1_000, keep: 5, atLeast: 0 })])
    await session.append({ role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] }, user('go'))
    for (let i = 0; i < 9; i++) await play(session, ...bash('make', words(200)))
    assert.deepEqual(await shown(session, 'system'), ['Be brief.'])
    const made = editsBy(session, 'summarize')
    assert.ok(made.length > 0)
    for (const { target } of made) assert.ok(target.type === 'range' && target.from === 1)
  })

  test('keeps pinned entries in view', async () => {
    const session = await openWith([summarize({ threshold: 1_000, keep: 2 })])
    await session.append(user('go'), ...bash('make', words(300)), ...bash('make', `keep this ${words(300)}`))
    await session.pin(4)
    await session.append(...bash('make', words(400)), ...bash('make', words(400)), says('x'), user('y'))
    await session.view()
    assert.match(JSON.stringify((await session.view()).messages), /keep this word/)
    assert.ok(session.edits().length > 0)
  })

  test('begins after a summary that was undone', async () => {
    const session = await openWith([summarize({ threshold: 1_000, keep: 2 })])
    await session.append(...talk(8, 300))
    await session.view()
    const [first] = editsBy(session, 'summarize')
    assert.deepEqual(first?.target, { type: 'range', from: 0, to: 5 })
    await session.undo(first!.id)
    await session.append(...talk(6, 300))
    await session.view()
    assert.deepEqual(editsBy(session, 'summarize')[1]?.target, { type: 'range', from: 6, to: 11 })
  })

  test('writes the replaced text to the archive in full, and a line to the daily log', async () => {
    const home = join(folder, 'archive')
    const pal = await openPalimpsest({ home, clock: () => 1_700_000_000_000 })
    const session = await pal.session('fix/login', {
      policy: everyTurn('t', [summarize({ threshold: 1_000, keep: 2 })]),
    })
    const messages = talk(8, 300)
    await session.append(...messages)
    await session.view()
    const path = join(home, 'archive', 'fix_login_1700000000000.json')
    const archived = JSON.parse(readFileSync(path, 'utf8'))
    assert.deepEqual(archived.entries, [0, 5])
    assert.deepEqual(
      archived.messages.map(({ at, ...message }: Message) => message),
      messages.slice(0, 6),
    )
    const [day] = readdirSync(join(home, 'workspace', 'memory'))
    const log = readFileSync(join(home, 'workspace', 'memory', day!), 'utf8')
    assert.match(log, /- \d\d:\d\d Summarised entries 0-5 of fix\/login: [\d,]+ tokens became [\d,]+\. Goal: 6 word/)
    await session.append(...talk(8, 300))
    await session.view()
    assert.equal(readdirSync(join(home, 'archive')).length, 2)
    await pal.close()
  })
})

describe('the summary of a model', () => {
  const good = (more = '') => [SUMMARY_MARK, ...SECTIONS.map(section => `## ${section}\n- told${more}`)].join('\n\n')

  async function withModel(answer: () => Promise<string>): Promise<{ text: string; why: string; asked: unknown }> {
    let asked: unknown
    const session = await openWith([summarize({ threshold: 1_000, keep: 2 })], {
      summarize: request => {
        asked = request
        return answer()
      },
    })
    await session.append(...work, says('on it'), user('thanks'))
    await session.view()
    const [made] = editsBy(session, 'summarize')
    return { text: (await shown(session, 'user'))[0] ?? '', why: made?.why ?? '', asked }
  }

  test('is used if it is good, and the model gets the messages, our draft and the goal', async () => {
    const { text, why, asked } = await withModel(async () => good())
    assert.equal(text, good())
    assert.match(why, /written by a model$/)
    const { messages, draft, goal } = asked as { messages: Message[]; draft: string; goal: string }
    assert.equal(messages.length, work.length)
    assert.ok(draft.startsWith(SUMMARY_MARK))
    assert.equal(goal, 'thanks')
  })

  const bad: [what: string, answer: () => Promise<string>, why: RegExp][] = [
    ['lacks a section', async () => good().replace('## Next Steps', ''), /refused: it lacks the section Next Steps/],
    ['is not marked', async () => good().slice(SUMMARY_MARK.length), /refused: it lacks the mark of a record/],
    ['is too large', async () => good(words(1_000)), /refused: it has \d+ tokens, not fewer/],
    ['fails', () => Promise.reject(new Error('no credit')), /failed: Error: no credit/],
  ]
  for (const [what, answer, reason] of bad) {
    test(`that ${what} is refused, ours is used, and the edit says so`, async () => {
      const { text, why } = await withModel(answer)
      assert.match(text, /> Fix the login\./)
      assert.match(why, reason)
    })
  }

  test('may have headings of other levels', () => {
    const text = `${SUMMARY_MARK}\n${SECTIONS.map((section, i) => `**${i + 1}. ${section}**`.replace('**', i ? '**' : '# **')).join('\ntold\n')}`
    assert.equal(
      checkSummary(`${SUMMARY_MARK}\n1. **Task Overview**:\nx`, 1_000, count),
      'it lacks the section Current State, Important Discoveries, Next Steps, Context to Preserve',
    )
    assert.notEqual(checkSummary(text, 10, count), undefined)
  })
})

describe('fallback', () => {
  const turns = (number: number, tokens: number): Message[] =>
    Array.from({ length: number }, () => bash('make', words(tokens))).flat()

  test('over 120,000 tokens keeps the last 10 to 20 entries, with the first request and the last', async () => {
    const session = await openWith([fallback()])
    await session.append(user('the first request'), says('ok'), user('the last request'), ...turns(29, 4_000))
    await session.view()
    assert.deepEqual(session.edits(), [])
    await session.append(...turns(2, 4_000))
    const { messages } = await session.view()
    assert.deepEqual(await shown(session, 'user'), ['the first request', leftOutText(45), 'the last request'])
    assert.equal(messages.length - 3, 20)
    assert.equal(leftOutText(45), '[45 earlier messages are left out here to stay within the context window]')
  })

  test('keeps fewer if 20 do not fit, but never fewer than 10', async () => {
    const session = await openWith([fallback({ threshold: 10_000 })])
    await session.append(user('go'), ...turns(20, 1_100))
    assert.equal((await session.view()).messages.length - 2, 18)
    const other = await openWith([fallback({ threshold: 10_000 })])
    await other.append(user('go'), ...turns(20, 5_000))
    assert.equal((await other.view()).messages.length - 2, 10)
  })

  test('keeps an existing summary', async () => {
    const session = await openWith([summarize({ threshold: 8_000, keep: 24 }), fallback({ threshold: 3_000 })])
    await session.append(user('the first request'), ...turns(30, 300))
    const { tokens } = await session.view()
    assert.equal(editsBy(session, 'fallback').length, 1, 'not one call late')
    assert.ok(tokens < 3_500)
    const [summary, leftOut, last] = await shown(session, 'user')
    assert.ok(summary?.startsWith(SUMMARY_MARK))
    assert.match(leftOut ?? '', /earlier messages are left out here/)
    assert.equal(last, 'the first request')
  })
})
