/** Which sessions are removed by rules of age and size, and how they are restored from their archive. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { forgetUser } from '../../src/doors/server/deletions.ts'
import { keepRetention } from '../../src/doors/server/retention.ts'
import { openServerStore } from '../../src/doors/server/server-store.ts'
import { Memory } from '../../src/memory/memory.ts'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import { openPalimpsest, type SessionInfo } from '../../src/session/engine.ts'
import { type Rule, toRetire } from '../../src/session/retention.ts'
import { runCli } from '../cli.ts'
import * as fc from '../property.ts'

const DAY = 24 * 60 * 60 * 1000
const MB = 1024 * 1024
const folder = mkdtempSync(join(tmpdir(), 'palimpsest-retention-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const users = ['ann', 'bob', undefined]
const anySession = fc.record({
  days: fc.nat(40),
  size: fc.integer({ min: 1, max: 9 }),
  owner: fc.constantFrom(...users),
  project: fc.constantFrom('/work/app', '/work/site', undefined),
  tags: fc.subarray(['keep', 'draft']),
})
type Any = typeof anySession extends fc.Arbitrary<infer T> ? T : never
const infoOf = ({ days, owner, project, tags }: Any, i: number): SessionInfo => ({
  ...{ id: `s${i}`, createdAt: 0, updatedAt: (100 - days) * DAY, length: 1, policy: 'none', model: 'm' },
  about: { tags, ...(project ? { project } : {}) },
  ...(owner === undefined ? {} : { owner }),
})
const scope = fc.record(
  {
    user: fc.constantFrom('ann', 'bob'),
    project: fc.constantFrom('app', '/work/site'),
    tag: fc.constant('draft'),
    except: fc.constant('keep'),
  },
  { requiredKeys: [] },
)

describe('rules', () => {
  test('of age remove all older sessions in their scope, and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anySession, { maxLength: 12 }),
        scope,
        fc.integer({ min: 1, max: 40 }),
        async (given, rule, days) => {
          const sessions = given.map(infoOf)
          const sizeOf = async () => assert.fail('nobody asks for sizes')
          const gone = await toRetire(sessions, [{ ...rule, days } as Rule], { now: 100 * DAY, sizeOf })
          const expected = given.flatMap((one, i) => (one.days > days && isIn(one, rule) ? [`s${i}`] : []))
          assert.deepEqual(gone.map(({ info }) => info.id).sort(), expected.sort())
        },
      ),
    )
  })

  test('of size keep the last used sessions in their scope, as many as fit, separately for each user on request', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anySession, { maxLength: 12 }),
        scope,
        fc.constantFrom('user', 'project', undefined),
        fc.integer({ min: 1, max: 30 }),
        async (given, rule, per, megabytes) => {
          const sessions = given.map(infoOf)
          const size = (info: SessionInfo) => given[sessions.indexOf(info)]!.size * MB
          const rules = [{ ...rule, megabytes, ...(per ? { per } : {}) } as Rule]
          const gone = await toRetire(sessions, rules, { now: 0, sizeOf: async info => size(info) })
          const left = new Set(sessions)
          for (const { info } of gone) {
            left.delete(info)
            assert.ok(isIn(given[sessions.indexOf(info)]!, rule), 'out of scope')
          }
          const keyOf = (info: SessionInfo) =>
            (per === 'user' ? info.owner : per === 'project' ? info.about.project : '') ?? ''
          const inScope = [...left].filter(info => isIn(given[sessions.indexOf(info)]!, rule))
          for (const own of Map.groupBy(inScope, keyOf).values()) {
            const sum = own.reduce((total, info) => total + size(info), 0)
            assert.ok(sum <= megabytes * MB || own.length === 1)
            const oldest = Math.min(...own.map(({ updatedAt }) => updatedAt))
            const newest = gone.filter(({ info }) => keyOf(info) === keyOf(own[0]!)).map(({ info }) => info.updatedAt)
            assert.ok(
              newest.every(at => at <= oldest),
              'the last used stay',
            )
          }
        },
      ),
    )
  })
})

function isIn({ owner, project, tags }: Any, rule: Partial<Rule>): boolean {
  if (rule.user !== undefined && rule.user !== owner) return false
  if (rule.project !== undefined && !project?.endsWith(rule.project)) return false
  if (rule.tag !== undefined && !tags.includes(rule.tag)) return false
  return rule.except === undefined || !tags.includes(rule.except)
}

const said = (text: string) => ({ role: 'user' as const, parts: [{ type: 'text' as const, text }] })

/** A home with old sessions of two users and a new one, and with rules. */
async function oldHome(name: string): Promise<string> {
  const home = join(folder, name, '.agent')
  await using pal = await openPalimpsest({ home, clock: () => Date.now() - 100 * DAY })
  for (const id of ['@Ann/old', '@bob/old', 'old']) await (await pal.session(id)).append(said(`the harbour of ${id}`))
  await pal.setTags('old', ['keep'])
  await using now = await openPalimpsest({ home })
  await (await now.session('new')).append(said('just now'))
  const rules = [{ days: 90, except: 'keep' }]
  writeFileSync(join(folder, name, 'palimpsest.json'), JSON.stringify({ retention: { archive: 'retired', rules } }))
  return home
}

const names = async (home: string) => {
  await using pal = await openPalimpsest({ home })
  return (await pal.sessions()).map(({ id }) => id).sort()
}

test('the command only lists first, archives and deletes with --yes, and an archive restores the same session', async () => {
  const home = await oldHome('command')
  const run = (...args: string[]) => runCli([...args, '--home', home])
  const before = (await run('export', '@Ann/old')).stdout
  const shown = await run('retention', '--json')
  assert.equal(shown.code, 0, shown.stderr)
  const would = JSON.parse(shown.stdout).sessions.map(({ session }: { session: string }) => session)
  assert.deepEqual(would.sort(), ['@Ann/old', '@bob/old'])
  assert.deepEqual(await names(home), ['@Ann/old', '@bob/old', 'new', 'old'])
  const done = await run('retention', '--yes')
  assert.match(done.stderr, /Deleted 2 sessions\. Archives are in /)
  assert.deepEqual(await names(home), ['new', 'old'])
  assert.equal((await run('verify')).code, 0)
  const archive = join(folder, 'command', 'retired')
  const back = await run('import', archive)
  assert.equal(back.code, 0, back.stderr)
  assert.deepEqual(await names(home), ['@Ann/old', '@bob/old', 'new', 'old'])
  assert.equal((await run('export', '@Ann/old')).stdout, before)
  const [own, former] = ['%41nn', 'Ann'].map(name => join(archive, 'users', name)) as [string, string]
  const [file] = readdirSync(own)
  assert.match(file!, /^old-[0-9a-f]{16}-\d{8}T\d{6}Z\.json\.gz$/)
  // An earlier version used this name for the folder.
  renameSync(own, former)

  const gone = await run('delete', '@Ann/old', '--yes')
  assert.equal(gone.code, 0, gone.stderr)
  assert.deepEqual([existsSync(former), readdirSync(own)], [false, []], 'a deleted session leaves no archive')
})

test('without rules, or with invalid ones, the command says what to do', async () => {
  const home = join(folder, 'none', '.agent')
  {
    await using pal = await openPalimpsest({ home })
    await pal.session('a')
  }
  const run = (...args: string[]) => runCli(['retention', ...args, '--home', home])
  for (const args of [[], ['--user', 'ann'], ['--days', 'x'], ['--days', '0'], ['--megabytes', '1', '--per', 'day']]) {
    const { code, stderr } = await run(...args)
    assert.deepEqual([code, /--days or --megabytes/.test(stderr)], [2, true], stderr)
  }
  assert.match((await run('--days', '1')).stderr, /No session is old or large enough/)
})

test('a server removes due sessions at its start and logs it, and a deleted user has no archives left', async () => {
  const home = await oldHome('server')
  const pal = await openPalimpsest({ home })
  const store = await openServerStore(home, {})
  const memory = new Memory(new SqliteMemory(join(home, 'memory.sqlite')))
  const logged: string[] = []
  const stop = keepRetention({ pal, store }, { log: line => void logged.push(line) })
  await stop()
  assert.equal(logged.length, 1)
  assert.match(logged[0]!, /^Retention: 2 sessions archived in .*retired and deleted\.$/)
  assert.deepEqual((await pal.sessions()).map(({ id }) => id).sort(), ['new', 'old'])
  assert.deepEqual(
    (await pal.tombstones()).map(({ by }) => by),
    ['admin:retention', 'admin:retention'],
  )
  const archives = join(folder, 'server', 'retired', 'users')
  assert.deepEqual(readdirSync(archives).sort(), ['%41nn', 'bob'])
  renameSync(join(archives, '%41nn'), join(archives, 'Ann'))
  await forgetUser({ pal, store, memory }, 'Ann', 'admin:cli')
  assert.deepEqual(readdirSync(archives), ['bob'])
  await memory.close()
  await store.close()
  await pal.close()
})
