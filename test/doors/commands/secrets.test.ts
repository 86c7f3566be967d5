/** `secrets` as people use it. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { runCli } from '../../cli.ts'

const home = mkdtempSync(join(tmpdir(), 'palimpsest-secrets-'))
after(() => rmSync(home, { recursive: true, force: true }))

const TOKEN = `ghp_${'aB3dE5gH7jK9'.repeat(3)}`

test('secrets prints the place of a secret, never the secret', async () => {
  {
    await using pal = await openPalimpsest({ home })
    const session = await pal.session('deploy')
    await session.append(
      { role: 'user', parts: [{ type: 'text', text: 'deploy it' }] },
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'bash', input: { command: 'cat .env' } }] },
      {
        role: 'tool',
        parts: [
          { type: 'tool-result', id: 'c1', name: 'bash', output: `${'# a line\n'.repeat(3000)}TOKEN=${TOKEN}\n` },
        ],
      },
    )
  }
  const found = await runCli(['secrets', '--json', '--home', home])
  assert.equal(found.code, 1, found.stderr)
  assert.deepEqual(JSON.parse(found.stdout).secrets, [
    ...[{ session: 'deploy', event: 2, type: 'entry', entry: 2, part: 0, kind: 'GitHub token', hint: 'ghp_…K9' }],
  ])
  const shown = await runCli(['secrets', 'deploy', '--home', home])
  assert.match(shown.stdout, /deploy #2 part 0 {2}GitHub token {2}ghp_…K9/)
  assert.ok(!(found.stdout + shown.stdout + shown.stderr).includes(TOKEN))
})
