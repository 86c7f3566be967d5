/**
 * The groups of `npm run mutate`: source files, and the tests that must detect their mutations. The tests of a group
 * are the fast ones that run its files. They run once for each mutation, so tests that start browsers, clients or many
 * processes are left out.
 */

export type Group = {
  name: string
  sources: readonly string[]
  /** Source files that are left out, and why. */
  without?: readonly { file: string; why: string }[]
  tests: readonly string[]
  slow?: readonly string[]
  /** The share of changes that must be noticed. */
  goal: number
}

const DOLT = 'its tests need a Dolt server'

export const GROUPS: readonly Group[] = [
  {
    name: 'ledger',
    sources: ['src/ledger/*.ts'],
    tests: [
      'test/ledger/*.test.ts',
      'test/recall/*.test.ts',
      'test/doors/owners.test.ts',
      'test/memory/sqlite.test.ts',
      'test/doors/commands/{head,redact,delete}.test.ts',
    ],
    goal: 0.9,
  },
  {
    name: 'view',
    sources: ['src/view/*.ts'],
    tests: [
      'test/view/*.test.ts',
      'test/laws/*.test.ts',
      'test/session/session*.test.ts',
      'test/replay/{why,verdict}.test.ts',
    ],
    goal: 0.9,
  },
  { name: 'tokens', sources: ['src/model/*.ts'], tests: ['test/model/*.test.ts'], goal: 0.9 },
  {
    name: 'session',
    sources: ['src/session/state.ts', 'src/session/session.ts'],
    tests: [
      'test/session/*.test.ts',
      'test/laws/*.test.ts',
      'test/view/{server-clears,sync}.test.ts',
      'test/policies/{stale,summary}.test.ts',
      'test/doors/commands/redact.test.ts',
    ],
    slow: ['test/session/{sample,two-writers}.test.ts'],
    goal: 0.9,
  },
  {
    name: 'memory',
    sources: ['src/memory/*.ts'],
    without: [{ file: 'src/memory/dolt*.ts', why: DOLT }],
    tests: ['test/memory/*.test.ts', 'test/doors/commands/memory.test.ts', 'test/tools/memory.test.ts'],
    slow: ['test/memory/dolt*.test.ts'],
    goal: 0.9,
  },
  {
    name: 'files',
    sources: ['src/files/*.ts'],
    tests: ['test/files/*.test.ts', 'test/tools/*.test.ts'],
    slow: ['test/tools/concurrency.test.ts'],
    goal: 0.9,
  },
  {
    name: 'gate',
    sources: ['src/doors/proxy/same-site.ts', 'src/doors/server/gate.ts', 'src/doors/server/tokens.ts'],
    tests: [
      'test/doors/server/{gate,tokens}.test.ts',
      'test/doors/access-matrix.test.ts',
      'test/doors/server/access.test.ts',
      'test/doors/server/requests.test.ts',
    ],
    goal: 0.9,
  },
  {
    name: 'proxy',
    sources: ['src/doors/proxy/*.ts'],
    tests: ['test/doors/proxy/*.test.ts', 'test/doors/owners.test.ts', 'test/doors/server/gate.test.ts'],
    slow: ['test/doors/proxy/{clients,kill,launch,sdks}.test.ts'],
    goal: 0.9,
  },
  {
    name: 'planner',
    sources: ['src/planner/*.ts'],
    tests: [
      'test/planner/*.test.ts',
      'test/policies/*.test.ts',
      'test/agent/preset.test.ts',
      'test/doors/proxy/server-clears.test.ts',
    ],
    slow: ['test/policies/{contract,ids}.test.ts'],
    goal: 0.75,
  },
]
