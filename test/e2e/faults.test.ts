/** Faults of the disk: every write, sync, truncation, rename and link of the stores and file writers fails in turn. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { hasCompiler } from '../../scripts/optional-parts.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-faults-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const FAULTS = join(import.meta.dirname, 'faults')

/** With fewer operations than these, the shim does not intercept all. */
const LEAST: Record<string, number> = {
  ledger: 40,
  'threaded ledger': 40,
  'making a ledger': 30,
  memory: 20,
  'atomic writer': 8,
  workspace: 4,
  'configuration and personas': 12,
}

test('nothing acknowledged is lost and every file is whole, whichever disk operation fails', {
  skip: hasCompiler() ? false : 'there is no cc on Linux to compile the shim with',
}, async () => {
  const shim = join(folder, 'fault.so')
  const made = spawnSync('cc', ['-shared', '-fPIC', '-Wall', '-Werror', '-o', shim, join(FAULTS, 'fault.c'), '-ldl'])
  assert.equal(made.status, 0, String(made.stderr))
  const env = { ...process.env, LD_PRELOAD: shim, PALIMPSEST_LOCKS: join(folder, 'locks') }
  const { stdout } = await promisify(execFile)(process.execPath, [join(FAULTS, 'scenarios.ts')], { env })
  const met: Record<string, number> = JSON.parse(stdout)
  for (const [name, least] of Object.entries(LEAST)) {
    assert.ok(met[`${name}, EIO`]! >= least, `${name}: ${stdout}`)
    for (const kind of ['ENOSPC', 'SHORT']) assert.ok(met[`${name}, ${kind}`]! > least - 4, `${name}: ${stdout}`)
  }
})
