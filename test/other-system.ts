/** Runs test files in a process that pretends to be another operating system, to test code for that system here. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const TEMP = tmpdir()

export function passOn(platform: 'darwin' | 'win32', files: readonly string[]): void {
  const asOther = `data:text/javascript,Object.defineProperty(process,"platform",{value:"${platform}"})`
  for (const file of files) {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const args = ['--import', asOther, '--test-reporter=tap', file]
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: ROOT,
      env: { ...env, TEMP },
      encoding: 'utf8',
    })
    assert.equal(status, 0, `${file} on ${platform}: ${stdout}${stderr}`)
    assert.match(stdout, /^# pass [1-9]/m)
  }
}
