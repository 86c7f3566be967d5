/**
 * Memory on a Dolt server. A proposal is a branch `agent/{user}/{label}/{id}` with one commit by the agent; approving
 * merges it to main and deletes it, rejecting deletes it, and both are commits on main. A block's history is Dolt's.
 *
 * Every write to main is one SQL transaction that ends in one Dolt commit, so it happens whole or not at all. The branch
 * is deleted after it; if that fails, it is deleted when the store is next opened. Of two transactions that touch the
 * same block only one succeeds, because each gives the block its own version.
 */
import { PalimpsestError } from '../model/errors.ts'
import {
  DoltConnections,
  type DoltOptions,
  type DoltRow,
  type DoltSession,
  LostRace,
  untilWon,
} from './dolt-connections.ts'
import { readVersions } from './dolt-history.ts'
import { authorOf, branchOf, noteMessage, proposalMessage } from './dolt-names.ts'
import { dropBranch, prepareDolt } from './dolt-schema.ts'
import { PROPOSAL_COLUMNS, proposalValues, toBlock, toProposal } from './rows.ts'
import {
  type Actor,
  type Block,
  type Change,
  type Decision,
  type MemoryStore,
  type Note,
  PAGE,
  type Proposal,
  type ProposalFilter,
  type Version,
} from './store.ts'

const BLOCK = 'SELECT user_id, label, title, body, schema_ref, updated_at, version FROM blocks'
/** Open proposals, except those whose decision is already on main. */
const OPEN = `SELECT * FROM open_proposals WHERE user_id = ?
  AND id NOT IN (SELECT decided.id FROM proposals AS decided WHERE decided.user_id = ?)`

export class DoltMemory implements MemoryStore {
  readonly #connections: DoltConnections
  readonly #clock: () => number
  #prepared: Promise<void> | undefined

  constructor(options: DoltOptions & { clock?: () => number }) {
    this.#connections = new DoltConnections(options)
    this.#clock = options.clock ?? Date.now
  }

  async blocks(
    userId: string,
    { limit = PAGE, after = '' }: { limit?: number; after?: string } = {},
  ): Promise<Block[]> {
    const rows = await this.#read(session =>
      session.rows(`${BLOCK} WHERE user_id = ? AND label > ? ORDER BY label LIMIT ${whole(limit)}`, [userId, after]),
    )
    return rows.map(toBlock)
  }

  async block(userId: string, label: string): Promise<Block | undefined> {
    const row = await this.#read(session => session.row(`${BLOCK} WHERE user_id = ? AND label = ?`, [userId, label]))
    return row && toBlock(row)
  }

  write(changes: readonly Change[], note: Note): Promise<boolean> {
    return this.#transaction(async session => {
      for (const change of changes) if (!(await isAsExpected(session, change))) return false
      for (const change of changes) await apply(session, change, note.at)
      await commit(session, note, changes)
      return true
    })
  }

  async versions(userId: string, label: string, page: { limit?: number; before?: string } = {}): Promise<Version[]> {
    return this.#read(session => readVersions(session, { userId, label }, { limit: PAGE, ...page }))
  }

  async version(userId: string, label: string, id: string): Promise<Version | undefined> {
    const [found] = await this.#read(session => readVersions(session, { userId, label }, { limit: 1, only: id }))
    return found
  }

  async propose(proposal: Proposal): Promise<Proposal> {
    const branch = branchOf(proposal)
    await this.#ready()
    await this.#connections.run('main', async session => {
      await session.call('BRANCH', branch, 'main')
      await session.use(branch)
      await session.plain('START TRANSACTION')
      await session.change(
        `INSERT INTO blocks (user_id, label, title, body, schema_ref, updated_at, version) VALUES (?, ?, ?, ?, NULL, ?, ?)
         ON DUPLICATE KEY UPDATE title = VALUES(title), body = VALUES(body), updated_at = VALUES(updated_at), version = VALUES(version)`,
        [proposal.userId, proposal.label, proposal.title, proposal.body, proposal.createdAt, proposal.id],
      )
      await insertProposal(session, 'proposals', proposal)
      const author = authorOf(`agent:${proposal.agentId}`)
      await session.commit(proposalMessage(proposal), author)
      await session.use('main')
      await untilWon(() => insertProposal(session, 'open_proposals', proposal))
    })
    return { ...proposal, branch }
  }

  async proposals(userId: string, filter: ProposalFilter = {}): Promise<Proposal[]> {
    const { state, label, limit = PAGE, after } = filter
    const tests: [sql: string, value: string | undefined][] = [
      ['state = ?', state === 'open' ? undefined : state],
      ['id < ?', after],
      ['label = ?', label],
    ]
    const given = tests.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]))
    const end = `${given.map(({ sql }) => ` AND ${sql}`).join('')} ORDER BY id DESC LIMIT ${whole(limit)}`
    const values = [userId, ...given.map(({ value }) => value)]
    const rows = await this.#read(async session => [
      ...(state === undefined || state === 'open' ? await session.rows(OPEN + end, [userId, ...values]) : []),
      ...(state === 'open' ? [] : await session.rows(`SELECT * FROM proposals WHERE user_id = ?${end}`, values)),
    ])
    return rows
      .map(asProposal)
      .sort((a, b) => (a.id < b.id ? 1 : -1))
      .slice(0, limit)
  }

  async proposal(userId: string, id: string): Promise<Proposal | undefined> {
    const row = await this.#read(
      async session =>
        (await session.row(`${OPEN} AND id = ?`, [userId, userId, id])) ??
        session.row('SELECT * FROM proposals WHERE user_id = ? AND id = ?', [userId, id]),
    )
    return row && asProposal(row)
  }

  async decide(userId: string, id: string, decision: Decision): Promise<boolean> {
    const { from, change } = decision
    let branch: string | undefined
    const decided = await this.#transaction(async session => {
      if (change && !(await isAsExpected(session, change))) return false
      if (from === 'open') {
        branch = await openBranch(session, userId, id)
        if (!branch) {
          // Somebody merged or deleted the branch with plain dolt; the next use records that first.
          this.#prepared = undefined
          return false
        }
        await bringToMain(session, { userId, id, branch, decision })
      }
      return carryOut(session, { userId, id, decision })
    })
    if (decided && branch) await this.#dropBranch(branch)
    return decided
  }

  async users({ limit = PAGE, after = '' }: { limit?: number; after?: string } = {}): Promise<string[]> {
    const rows = await this.#read(session =>
      session.rows(
        `SELECT user_id FROM blocks WHERE user_id > ? UNION
         SELECT user_id FROM open_proposals WHERE user_id > ? ORDER BY user_id LIMIT ${whole(limit)}`,
        [after, after],
      ),
    )
    return rows.map(row => String(row['user_id']))
  }

  /**
   * Also deletes open proposals and their branches. Earlier commits keep their content: Dolt never deletes history.
   */
  async forget(userId: string, { at, by }: { at: number; by: Actor }): Promise<void> {
    for (const { branch } of await this.proposals(userId, { state: 'open', limit: 10_000 })) {
      if (branch) await this.#dropBranch(branch)
    }
    await this.#transaction(async session => {
      for (const table of ['blocks', 'proposals', 'open_proposals'])
        await session.change(`DELETE FROM ${table} WHERE user_id = ?`, [userId])
      await commit(session, { at, by, action: 'delete', why: `Everything of ${userId}` }, [])
      return true
    })
  }

  async ping(): Promise<void> {
    await this.#connections.run(null, session => session.plain('SELECT 1'))
  }

  close(): Promise<void> {
    return this.#connections.close()
  }

  async #read<T>(work: (session: DoltSession) => Promise<T>): Promise<T> {
    await this.#ready()
    return this.#connections.run('main', work)
  }

  /** Runs work that ends in one commit; `false` if the state was not as expected, or another transaction won. */
  async #transaction(work: (session: DoltSession) => Promise<boolean>): Promise<boolean> {
    await this.#ready()
    try {
      return await this.#connections.run('main', async session => {
        await session.plain('START TRANSACTION')
        const done = await work(session)
        if (!done) await session.plain('ROLLBACK')
        return done
      })
    } catch (error) {
      if (error instanceof LostRace) return false
      throw error
    }
  }

  /** The decision is already recorded; a remaining branch is deleted when the store is opened again. */
  async #dropBranch(branch: string): Promise<void> {
    await this.#connections.run('main', session => dropBranch(session, branch)).catch(() => {})
  }

  /** Prepares tables and index before the first use; after a failure, the next use tries again. */
  #ready(): Promise<void> {
    this.#prepared ??= prepareDolt(this.#connections, this.#clock).catch(error => {
      this.#prepared = undefined
      throw error
    })
    return this.#prepared
  }
}

type Deciding = { userId: string; id: string; decision: Decision }

/** Records a decision and makes its change, in one commit. False if it was decided otherwise meanwhile. */
async function carryOut(session: DoltSession, { userId, id, decision }: Deciding): Promise<boolean> {
  const { from, change, note } = decision
  if (!(await recordDecision(session, { userId, id, decision }))) return false
  if (change) await apply(session, change, note.at)
  if (change && from === 'open') await session.plain('DELETE FROM dolt_conflicts_blocks')
  await commit(session, note, change ? [change] : [])
  return true
}

/** The branch of an open proposal. Looks up one branch, because `dolt_branches` reads all branches. */
async function openBranch(session: DoltSession, userId: string, id: string): Promise<string | undefined> {
  const row = await session.row(`${OPEN} AND id = ?`, [userId, userId, id])
  if (!row) return undefined
  const branch = branchOf({ userId, id, label: String(row['label']) })
  try {
    return (await session.row('SELECT DOLT_HASHOF(?) AS hash', [branch])) && branch
  } catch (error) {
    if (isNoBranch(error)) return undefined
    throw error
  }
}

function isNoBranch(error: unknown): boolean {
  return error instanceof Error && /invalid ref|not found/i.test(error.message)
}

/** If a branch has just disappeared, somebody else has decided on it. */
async function merge(session: DoltSession, branch: string): Promise<void> {
  try {
    await session.call('MERGE', '--no-commit', '--no-ff', branch)
  } catch (error) {
    throw isNoBranch(error) ? new LostRace(`${branch} is gone`, { cause: error }) : error
  }
}

/** Brings the proposal's row to main: with its commit if it is approved, as a copy if it is rejected. */
async function bringToMain(
  session: DoltSession,
  { userId, id, branch, decision }: Deciding & { branch: string },
): Promise<void> {
  if (decision.to === 'approved') await merge(session, branch)
  else
    await session.change('INSERT INTO proposals SELECT * FROM open_proposals WHERE user_id = ? AND id = ?', [
      userId,
      id,
    ])
  await session.change('DELETE FROM open_proposals WHERE user_id = ? AND id = ?', [userId, id])
}

async function recordDecision(
  session: DoltSession,
  { userId, id, decision: { from, to, note, change } }: Deciding,
): Promise<boolean> {
  // The nonce makes two equal decisions differ, so that the later of two transactions fails instead of agreeing.
  const nonce = change?.version ?? crypto.randomUUID()
  const found = await session.change(
    `UPDATE proposals SET state = ?, decided_at = ?, decided_by = ?, decided_why = ?, decision = ? WHERE user_id = ? AND id = ? AND state = ?`,
    [to, note.at, note.by, note.why, nonce, userId, id, from],
  )
  if (found > 0 && to === 'approved' && change) {
    await session.change('UPDATE proposals SET before_version = ?, after_version = ? WHERE user_id = ? AND id = ?', [
      change.expected,
      change.version,
      userId,
      id,
    ])
  }
  return found > 0
}

async function isAsExpected(session: DoltSession, { userId, label, expected }: Change): Promise<boolean> {
  const row = await session.row('SELECT version FROM blocks WHERE user_id = ? AND label = ?', [userId, label])
  return (row ? String(row['version']) : null) === expected
}

async function apply(session: DoltSession, { userId, label, version, content }: Change, at: number): Promise<void> {
  if (!content) {
    await session.change('DELETE FROM blocks WHERE user_id = ? AND label = ?', [userId, label])
    return
  }
  await session.change(
    'REPLACE INTO blocks (user_id, label, title, body, schema_ref, updated_at, version) VALUES (?, ?, ?, ?, ?, ?, ?)',
    [userId, label, content.title, content.body, content.schemaRef, at, version],
  )
}

async function commit(session: DoltSession, note: Note, changes: readonly Change[]): Promise<void> {
  await session.commit(noteMessage(note, changes), authorOf(note.by))
}

async function insertProposal(
  session: DoltSession,
  table: 'proposals' | 'open_proposals',
  it: Proposal,
): Promise<void> {
  const values = proposalValues(it)
  const places = values.map(() => '?').join(', ')
  await session.change(`INSERT IGNORE INTO ${table} (${PROPOSAL_COLUMNS}) VALUES (${places})`, values)
}

function asProposal(row: DoltRow): Proposal {
  const proposal = toProposal(row)
  return proposal.state === 'open' ? { ...proposal, branch: branchOf(proposal) } : proposal
}

/** A checked number for the text of a statement: LIMIT takes no parameter here. */
function whole(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 0) return limit
  throw new PalimpsestError('INVALID_INPUT', 'A limit must be a whole number.')
}
