/** The list of sessions in a server: it follows the changes of other processes, and reads only what they changed. */
import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { Catalogue } from '../../../src/doors/server/catalogue.ts'
import { Postgres } from '../../../src/ledger/postgres/database.ts'
import { openPalimpsest, type Palimpsest } from '../../../src/session/engine.ts'
import { noPostgres, startPostgres } from '../../postgres.ts'

const MANY = 300
const OLD = Date.parse('2020-01-01')
const AGE = 'UPDATE sessions SET changed_minute = 0'
const said = (text: string) => ({ role: 'user' as const, parts: [{ type: 'text' as const, text }] })

/** `open` gives the same home each time; `age` makes all changes so far old ones. */
async function follows(open: (clock: () => number) => Promise<Palimpsest>, age: () => Promise<void>): Promise<void> {
  let now = OLD
  await using mine = await open(() => now)
  await using theirs = await open(() => now)
  for (let i = 0; i < MANY; i++) {
    now++
    await mine.session(`s${i}`)
  }
  await mine.of('ada').session('hers')
  let read = 0
  const counting = {
    find: (id: string) => mine.find(id),
    removedSince: (count: number) => mine.removedSince(count),
    sessions: async (options: Parameters<Palimpsest['sessions']>[0]) => {
      const rows = await mine.sessions(options)
      read += rows.length
      return rows
    },
  }
  const catalogue = new Catalogue(counting, () => now)
  const look = async () => new Map((await catalogue.all()).map(info => [info.id, info]))
  assert.equal((await look()).size, MANY + 1)
  await age()
  read = 0
  await look()
  assert.equal(read, 100, 'nothing has changed: the newest alone are read')

  await theirs.entitle('s7', 'Another title')
  await (await theirs.session('s9')).append(said('late'))
  await theirs.remove(['s11', 's12'], { by: 'them' })
  await (await theirs.session('s12')).append(said('again'))
  await theirs.of('ada').entitle('hers', 'Hers')
  // On SQLite the order of use is updated in the background or when the writer lists.
  await theirs.sessions()
  read = 0
  const seen = await look()
  assert.ok(read <= 120, `${read} rows`)
  assert.equal(seen.get('s7')?.about.title, 'Another title')
  assert.equal(seen.get('s9')?.length, 1)
  assert.equal(seen.has('s11'), false)
  assert.equal(seen.get('s12')?.length, 1)
  assert.equal(seen.get('@ada/hers')?.about.title, 'Hers')
  assert.equal(seen.size, MANY)

  const own = new Catalogue(mine.of('ada'), () => now)
  assert.deepEqual(
    (await own.all()).map(({ id }) => id),
    ['hers'],
  )
  await theirs.of('ada').remove(['hers'], { by: 'her' })
  assert.deepEqual(await own.all(), [])
}

describe('the list of a server follows other processes', () => {
  test('on SQLite', async () => {
    const home = mkdtempSync(join(tmpdir(), 'palimpsest-catalogue-'))
    const age = async () => {
      const database = new DatabaseSync(join(home, 'ledger.sqlite'))
      database.exec(AGE)
      database.close()
    }
    await follows(clock => openPalimpsest({ home, clock, config: false, databaseUrl: false }), age)
  })

  test('on PostgreSQL', { skip: noPostgres }, async () => {
    const url = await (await startPostgres()).create('catalogue')
    const age = async () => {
      const postgres = await Postgres.open(url)
      await postgres.write(AGE)
      await postgres.close()
    }
    await follows(clock => openPalimpsest({ home: 'none', clock, config: false, databaseUrl: url }), age)
  })
})
