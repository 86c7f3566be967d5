import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createTwoFilesPatch } from 'diff'
import { applyPatchTo } from '../../src/calls/patches.ts'
import * as fc from '../property.ts'

const agentPatch = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')

describe('the apply_patch form', () => {
  test('adds, updates and deletes files, each section on its own', () => {
    const patch = agentPatch(
      '*** Add File: src/new.ts',
      '+one',
      '+two',
      '*** Update File: src/old.ts',
      '@@',
      ' a',
      '-b',
      '+B',
      '*** Delete File: gone.ts',
    )
    assert.equal(applyPatchTo(patch, 'src/new.ts', undefined), 'one\ntwo\n')
    assert.equal(applyPatchTo(patch, 'src/old.ts', 'a\nb\nc\n'), 'a\nB\nc\n')
    assert.equal(applyPatchTo(patch, '/repo/src/old.ts', 'a\nb\nc\n'), 'a\nB\nc\n')
    assert.equal(applyPatchTo(patch, 'gone.ts', 'x'), undefined)
    assert.equal(applyPatchTo(patch, 'other.ts', 'untouched'), 'untouched')
  })

  test('an anchor selects one of two equal places, and anchors can be nested', () => {
    const content = 'def a():\n  return 1\nclass B:\n  def a():\n    pass\n  def b():\n    return 1\n'
    const patch = agentPatch('*** Update File: x.py', '@@ class B:', '@@   def b():', '-    return 1', '+    return 2')
    assert.equal(applyPatchTo(patch, 'x.py', content), content.replace('    return 1', '    return 2'))
    const unknown = agentPatch('*** Update File: x.py', '@@ class C:', '-  return 1', '+  return 2')
    assert.equal(applyPatchTo(unknown, 'x.py', content), undefined)
  })

  test('hunks apply in order, and a hunk that only adds goes to the end of the file', () => {
    const patch = agentPatch('*** Update File: x', '@@', ' a', '+b', '@@', ' a', '+c')
    assert.equal(applyPatchTo(patch, 'x', 'a\na\n'), 'a\nb\na\nc\n')
    assert.equal(applyPatchTo(agentPatch('*** Update File: x', '@@', '+end'), 'x', 'a\n'), 'a\nend\n')
    assert.equal(applyPatchTo(agentPatch('*** Update File: x', '@@', '+end', '*** End of File'), 'x', 'a'), 'a\nend')
  })

  test('after a move, neither the old nor the new file is known', () => {
    const patch = agentPatch('*** Update File: a.ts', '*** Move to: b.ts', '@@', '-x', '+y')
    assert.equal(applyPatchTo(patch, 'a.ts', 'x\n'), undefined)
    assert.equal(applyPatchTo(patch, 'b.ts', undefined), undefined)
  })

  test('a missing line makes the result unknown', () => {
    const patch = agentPatch('*** Update File: x', '@@', ' a', '-nothing', '+b')
    assert.equal(applyPatchTo(patch, 'x', 'a\nb\n'), undefined)
    assert.equal(applyPatchTo(patch, 'x', undefined), undefined)
  })
})

describe('unified diffs', () => {
  test('applies git diffs of several files, with new and deleted files and lines that look like headers', () => {
    const patch = [
      'diff --git a/new.ts b/new.ts',
      'new file mode 100644',
      'index 0000000..1111111',
      '--- /dev/null',
      '+++ b/new.ts',
      '@@ -0,0 +1,2 @@',
      '+one',
      '+two',
      '\\ No newline at end of file',
      'diff --git a/sql.sql b/sql.sql',
      'index 1111111..2222222 100644',
      '--- a/sql.sql',
      '+++ b/sql.sql',
      '@@ -1,3 +1,3 @@ create table',
      ' first',
      '--- old comment',
      '+++ new comment',
      ' last',
      'diff --git a/gone.ts b/gone.ts',
      'deleted file mode 100644',
      '--- a/gone.ts',
      '+++ /dev/null',
      '@@ -1 +0,0 @@',
      '-x',
      '',
    ].join('\n')
    assert.equal(applyPatchTo(patch, 'new.ts', undefined), 'one\ntwo')
    assert.equal(applyPatchTo(patch, 'sql.sql', 'first\n-- old comment\nlast\n'), 'first\n++ new comment\nlast\n')
    assert.equal(applyPatchTo(patch, 'gone.ts', 'x\n'), undefined)
  })

  test('the line number selects one of several equal places', () => {
    const content = 'x\na\nb\nx\na\nb\nx\na\nb\n'
    const patch = '--- a/f\n+++ b/f\n@@ -5,2 +5,2 @@\n a\n-b\n+B\n'
    assert.equal(applyPatchTo(patch, 'f', content), 'x\na\nb\nx\na\nB\nx\na\nb\n')
  })

  test('the final newline is added and removed as the diff says', () => {
    const gone = '--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n'
    const come = '--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n'
    assert.equal(applyPatchTo(gone, 'f', 'a\n'), 'b')
    assert.equal(applyPatchTo(come, 'f', 'a'), 'a\n')
  })

  test('any generated patch turns the old text into the new one', () => {
    const line = fc.constantFrom('a', 'b', 'c', '', '  a', '-- x', '++ y', '@@ z', '*** End Patch', 'diff --git q')
    const file = fc.tuple(fc.array(line, { maxLength: 25 }), fc.boolean()).map(([lines, newline]) => {
      return lines.join('\n') + (newline && lines.length > 0 ? '\n' : '')
    })
    fc.assert(
      fc.property(file, file, fc.integer({ min: 1, max: 4 }), (before, after, context) => {
        const patch = createTwoFilesPatch('a/f', 'b/f', before, after, '', '', { context })
        assert.equal(applyPatchTo(patch, 'f', before), after)
      }),
      { numRuns: 500 },
    )
  })
})
