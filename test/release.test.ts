import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { problemsOf, releaseChangelog, sectionOf } from '../scripts/release.ts'

const OLD = `# Changelog

## Unreleased

### Added

- A thing.

### Changed

### Fixed

- A bug.

## 0.1.0 - 2026-01-01

- The first.
`

test('a release moves unreleased changes under its version, without empty groups', () => {
  const text = releaseChangelog(OLD, '0.2.0', '2026-02-03')
  assert.match(
    text,
    /^# Changelog\n\n## Unreleased\n\n### Added\n\n### Changed\n\n### Fixed\n\n## 0\.2\.0 - 2026-02-03\n/,
  )
  assert.equal(sectionOf(text, '0.2.0').trim(), '### Added\n\n- A thing.\n\n### Fixed\n\n- A bug.')
  assert.equal(sectionOf(text, '0.1.0').trim(), '- The first.')
  assert.throws(() => releaseChangelog(text, '0.3.0', '2026-03-04'), /nothing to release/)
})

test('a release is refused for an old or used version, and with uncommitted changes', () => {
  const state = { current: '0.1.9', tags: ['v0.1.9'], status: '' }
  assert.deepEqual(problemsOf('0.1.10', state), [])
  assert.deepEqual(problemsOf('0.1.0', { ...state, current: '0.1.0', tags: [] }), [])
  assert.match(problemsOf('0.1.8', state).join(), /not after/)
  assert.match(problemsOf('0.1.9', state).join(), /tag v0\.1\.9 already/)
  assert.match(problemsOf('next', state).join(), /no version/)
  assert.match(problemsOf('0.2.0', { ...state, status: ' M a.ts' }).join(), /not committed/)
})

test('the changelog has unreleased changes, and versions with dates', () => {
  const text = readFileSync(join(import.meta.dirname, '../CHANGELOG.md'), 'utf8')
  const heads = [...text.matchAll(/^## (.*)$/gm)].map(head => head[1])
  assert.equal(heads[0], 'Unreleased')
  for (const head of heads.slice(1)) assert.match(head!, /^\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d$/)
})
