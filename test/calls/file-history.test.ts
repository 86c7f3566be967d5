import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createTwoFilesPatch } from 'diff'
import { changesIn, fileStateAt, toChangelog } from '../../src/calls/file-history.ts'
import { defineTools } from '../../src/calls/tool-kinds.ts'
import type { Message } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import * as fc from '../property.ts'

/** One call with its result, as one turn. */
type Did = { name: string; input: unknown; output?: string; isError?: boolean }

let next = 0
function turn({ name, input, output = 'ok', isError }: Did): Message[] {
  const id = `call_${next++}`
  return [
    { role: 'assistant', parts: [{ type: 'tool-call', id, name, input }] },
    { role: 'tool', parts: [{ type: 'tool-result', id, name, output, ...(isError ? { isError } : {}) }] },
  ]
}

const session = (...did: Did[]): Message[] => did.flatMap(turn)
const numbered = (text: string) =>
  text
    .split('\n')
    .map((line, i) => `${String(i + 1).padStart(6)}→${line}`)
    .join('\n')

describe('file_state_at', () => {
  test('follows reads, edits and writes of our own tools turn by turn', () => {
    const messages = session(
      { name: 'read_file', input: { path: 'a.ts' }, output: 'one\ntwo\n' },
      { name: 'edit_file', input: { path: 'a.ts', old_string: 'two', new_string: 'TWO', intent: 'Shout' } },
      { name: 'append_to_file', input: { path: 'a.ts', content: 'three\n' } },
      { name: 'prepend_to_file', input: { path: 'a.ts', content: 'zero\n' } },
      { name: 'write_file', input: { path: 'a.ts', content: 'new' } },
    )
    const states = [1, 2, 3, 4, 5].map(at => fileStateAt(messages, 'a.ts', at).content)
    assert.deepEqual(states, ['one\ntwo\n', 'one\nTWO\n', 'one\nTWO\nthree\n', 'zero\none\nTWO\nthree\n', 'new'])
    assert.deepEqual(fileStateAt(messages, 'a.ts', 3).basis, ['turn 1: read', 'turn 2: edited', 'turn 3: appended'])
    assert.deepEqual(fileStateAt(messages, 'a.ts', 5).basis, ['turn 5: written by write_file'])
  })

  test('reports unknown for a file that was never or partly read, or changed in an unknown way', () => {
    const unseen = fileStateAt(session({ name: 'read_file', input: { path: 'b.ts' }, output: 'x' }), 'a.ts', 9)
    assert.equal(unseen.content, undefined)
    assert.match(unseen.basis[0]!, /no complete read, write or edit of a\.ts/)
    const part = session({ name: 'Read', input: { file_path: 'a.ts', offset: 10, limit: 5 }, output: '    10→x' })
    assert.equal(fileStateAt(part, 'a.ts', 9).content, undefined)
    const blind = session({ name: 'Edit', input: { file_path: 'a.ts', old_string: 'x', new_string: 'y' } })
    assert.match(fileStateAt(blind, 'a.ts', 9).basis[0]!, /content before is not known/)
    const sed = session(
      { name: 'read_file', input: { path: 'a.ts' }, output: 'x' },
      { name: 'bash', input: { command: "sed -i 's/x$/y/' a.ts" }, output: '' },
    )
    assert.equal(fileStateAt(sed, 'a.ts', 9).content, undefined)
    assert.match(fileStateAt(sed, 'a.ts', 9).basis.at(-1)!, /changed by bash, in an unknown way/)
  })

  test('follows commands whose effect is certain', () => {
    const after = (command: string, path = 'a.ts') =>
      fileStateAt(
        session(
          { name: 'read_file', input: { path: 'a.ts' }, output: 'x = 1\nx + x\n' },
          { name: 'bash', input: { command }, output: '' },
        ),
        path,
        9,
      )
    const unknown = [
      "sed -i 's/x.*/y/' a.ts",
      'sed -i "s/x/$y/" a.ts',
      'npm test | tee a.ts',
      'echo $x | tee a.ts',
      'echo x | tr x y | tee a.ts',
    ]
    for (const command of unknown) assert.equal(after(command).content, undefined, command)
    assert.equal(after("sed -i 's/x/y/' a.ts").content, 'y = 1\ny + x\n')
    assert.equal(after("sed -i 's|x|y|g' a.ts").content, 'y = 1\ny + y\n')
    assert.equal(after("echo 'y = 2' | tee a.ts").content, 'y = 2\n')
    assert.equal(after('echo z | tee -a a.ts > /dev/null').content, 'x = 1\nx + x\nz\n')
    assert.equal(after("cat <<'EOF' | tee a.ts\ny = 3\nEOF").content, 'y = 3\n')
    assert.equal(after('mv a.ts b.ts', 'b.ts').content, 'x = 1\nx + x\n')
    assert.equal(after('mv a.ts b.ts').content, undefined)
    assert.match(after('mv a.ts b.ts').basis[0]!, /removed by a command/)
    assert.equal(after('mv a.ts lib', 'lib').content, undefined, 'lib may be a folder')
    assert.equal(after('cp a.ts lib/', 'lib/a.ts').content, 'x = 1\nx + x\n')
    assert.equal(after('git status').content, 'x = 1\nx + x\n')
    assert.equal(after('git mv a.ts b.ts', 'b.ts').content, 'x = 1\nx + x\n')
    assert.equal(after('git mv a.ts b.ts').content, undefined)
    assert.match(after('git rm -q a.ts').basis[0]!, /removed by a command/)
    assert.equal(after('git rm --cached a.ts').content, 'x = 1\nx + x\n')
    for (const command of ['chmod +x a.ts', 'touch a.ts']) {
      const { content, basis } = after(command)
      assert.deepEqual([content, basis], ['x = 1\nx + x\n', ['turn 1: read']], command)
    }
    const patch = '--- a/a.ts\n+++ b/a.ts\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n x + x\n'
    assert.equal(after(`git apply <<'EOF'\n${patch}EOF`).content, 'x = 2\nx + x\n')
    const deleted = '*** Begin Patch\n*** Delete File: a.ts\n*** End Patch\n'
    assert.deepEqual(after(`apply_patch <<'EOF'\n${deleted}EOF`).basis, ['turn 2: removed by a patch'])
    for (const command of ['git apply fix.patch', 'patch -p1 < fix.patch', `git apply -R <<'EOF'\n${patch}EOF`]) {
      assert.match(after(command).basis.at(-1)!, /^not considered: effects of 1 command run since/, command)
    }
  })

  test('follows git restores of content staged or committed here, and explains unknown ones', () => {
    const after = (...commands: string[]) =>
      fileStateAt(
        session(
          { name: 'read_file', input: { path: 'src/a.ts' }, output: 'one\n' },
          ...commands.map(command =>
            command === 'EDIT'
              ? { name: 'edit_file', input: { path: 'src/a.ts', old_string: 'one', new_string: 'two' } }
              : { name: 'bash', input: { command }, output: '' },
          ),
        ),
        'src/a.ts',
        99,
      )
    const followed: string[][] = [
      ['git add src/a.ts', 'EDIT', 'git checkout -- src/a.ts'],
      ['git add -A && git commit -m "a, b"', 'EDIT', 'git restore src/a.ts'],
      ['git add src', 'git commit -m one', 'npm test', 'EDIT', 'git status && git checkout -- src/a.ts'],
      ['git commit -am one', 'EDIT', 'git add .', 'git checkout HEAD -- src/a.ts'],
      ['git add .; git commit -q -m one; git push', 'echo x >> src/a.ts', 'git checkout -- src/b.ts src/a.ts'],
      ['git add . && echo x >> src/a.ts', 'git checkout -- src/a.ts'],
    ]
    for (const commands of followed) assert.equal(after(...commands).content, 'one\n', commands.join(' / '))
    assert.deepEqual(after(...followed[0]!).basis, ['turn 4: restored by git, as staged or committed in this session'])
    assert.equal(after('git commit -am one', 'EDIT', 'git add .', 'git restore src/a.ts').content, 'two\n')
    assert.equal(
      after('git add . && echo x >> src/a.ts && git add .', 'EDIT', 'git restore src/a.ts').content,
      'one\nx\n',
    )
    const unknown: [commands: string[], why: RegExp][] = [
      [['git checkout -- src/a.ts'], /the ledger has no git add or git commit for it/],
      [['git commit -m one', 'EDIT', 'git restore src/a.ts'], /no git add or git commit for it/],
      [['git add src/b.ts', 'EDIT', 'git restore src/a.ts'], /no git add or git commit for it/],
      [['git add -A', 'git stash', 'git restore src/a.ts'], /git stash may have changed what is staged/],
      [['git -C ../other add -A', 'EDIT', 'git restore src/a.ts'], /git -C \.\.\/other add -A may have changed/],
      [['git add -A', 'git reset', 'git restore src/a.ts'], /git reset may have changed what is staged/],
      [['git add -p', 'EDIT', 'git restore src/a.ts'], /git add -p may have changed what is staged/],
      [['git add -A', 'EDIT', 'git checkout main -- src/a.ts'], /./],
      [['git add -A', 'EDIT', 'git restore --source=v1 src/a.ts'], /./],
      [["sed -i 's/o.e/x/' src/a.ts", 'git add -A', 'EDIT', 'git restore src/a.ts'], /when it was staged is not known/],
    ]
    for (const [commands, why] of unknown) {
      const { content, basis } = after(...commands)
      assert.equal(content, undefined, commands.join(' / '))
      assert.match(basis.at(-1)!, why)
    }
  })

  test('follows all writes of a command line to the same file', () => {
    const { content, basis } = fileStateAt(
      session({
        name: 'bash',
        input: { command: "echo a > x.md; echo b >> x.md && sed -i 's/a/c/' x.md" },
        output: '',
      }),
      'x.md',
      1,
    )
    assert.equal(content, 'c\nb\n')
    assert.deepEqual(basis, ['turn 1: changed by sed'])
  })

  test('a read that the tool marks as partial is not a whole read', () => {
    const cut = [
      '<file>\n00001| one\n00002| two\n\n(File has more lines. Use "offset" to read beyond line 2)\n</file>',
      `${numbered('one\ntwo')}\n\n... [truncated: 90,000 chars total, 2000 lines] ...`,
      'one\ntwo\n[file truncated: showing lines 1-2 of 900]',
      '    11→eleven\n    12→twelve',
    ]
    for (const output of cut) {
      const messages = session({ name: 'read', input: { filePath: '/r/a.ts' }, output })
      assert.equal(fileStateAt(messages, '/r/a.ts', 1).content, undefined, output)
    }
  })

  test('removes line numbers and notes from reads of several agents', () => {
    const text = 'one\n\n  two'
    const outputs = [
      numbered(text),
      `${numbered(text)}\n\n<system-reminder>\nBe careful.\n</system-reminder>`,
      '<file>\n00001| one\n00002| \n00003|   two\n\n(End of file - total 3 lines)\n</file>',
      '     1\tone\n     2\t\n     3\t  two',
    ]
    for (const output of outputs) {
      const messages = session({ name: 'Read', input: { file_path: '/r/a.ts' }, output })
      assert.equal(fileStateAt(messages, '/r/a.ts', 1).content, text, output)
    }
  })

  test('follows cat, heredocs, appends and removals, without the text that agents print around output', () => {
    const codex = 'Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nfrom cat\n'
    const steps = session(
      { name: 'shell', input: { command: ['bash', '-lc', 'cat a.txt'] }, output: codex },
      { name: 'bash', input: { command: "cat > a.txt <<'EOF'\nwritten\n$HOME\nEOF" }, output: '' },
      { name: 'bash', input: { command: "cat >> a.txt <<'EOF'\nmore\nEOF" }, output: '' },
      { name: 'bash', input: { command: "cat > a.txt <<'EOF'\nfails\nEOF" }, output: 'no space left\nExit code: 1' },
      { name: 'bash', input: { command: 'rm a.txt' }, output: '' },
    )
    const states = [1, 2, 3, 4, 5].map(at => fileStateAt(steps, 'a.txt', at))
    assert.deepEqual(
      states.map(state => state.content),
      ['from cat\n', 'written\n$HOME\n', 'written\n$HOME\nmore\n', 'written\n$HOME\nmore\n', undefined],
    )
    assert.match(states[4]!.basis[0]!, /removed by a command/)
    const mini = session({
      name: 'bash',
      input: { command: 'cat a.txt' },
      output: '<returncode>0</returncode>\n<output>\nhello\n</output>',
    })
    assert.equal(fileStateAt(mini, 'a.txt', 1).content, 'hello\n')
  })

  test('reports the number of later commands, since any may have changed the file', () => {
    const messages = session(
      { name: 'read_file', input: { path: 'a.ts' }, output: 'x' },
      { name: 'bash', input: { command: 'npm run format' }, output: '' },
    )
    assert.deepEqual(fileStateAt(messages, 'a.ts', 1).basis, ['turn 1: read'])
    const { content, basis } = fileStateAt(messages, 'a.ts', 2)
    assert.equal(content, 'x')
    assert.match(basis[1]!, /not considered: effects of 1 command/)
  })

  test('inserted lines are added after the named line', () => {
    const insert = (line: number) => ({ command: 'insert', path: '/a', insert_line: line, insert_text: 'new\n' })
    const messages = session(
      { name: 'str_replace_based_edit_tool', input: { command: 'create', path: '/a', file_text: 'one\ntwo\n' } },
      { name: 'str_replace_based_edit_tool', input: insert(1) },
      { name: 'str_replace_based_edit_tool', input: insert(0) },
    )
    assert.equal(fileStateAt(messages, '/a', 2).content, 'one\nnew\ntwo\n')
    assert.equal(fileStateAt(messages, '/a', 3).content, 'new\none\nnew\ntwo\n')
  })

  test('follows patches, multi-edits, and edits that create a file', () => {
    const patch = '*** Begin Patch\n*** Update File: src/a.ts\n@@\n-b\n+B\n*** End Patch'
    const messages = session(
      { name: 'Edit', input: { file_path: '/repo/src/a.ts', old_string: '', new_string: 'a\nb\nc\n' } },
      { name: 'apply_patch', input: { input: patch } },
      {
        name: 'MultiEdit',
        input: {
          file_path: '/repo/src/a.ts',
          edits: [
            { old_string: 'a', new_string: 'A' },
            { old_string: 'c', new_string: 'c c', replace_all: true },
          ],
        },
      },
    )
    const states = [1, 2, 3].map(at => fileStateAt(messages, 'src/a.ts', at).content)
    assert.deepEqual(states, ['a\nb\nc\n', 'a\nB\nc\n', 'A\nB\nc c\n'])
  })

  test('a failed call changes nothing, whether its flag, exit code or words say so', () => {
    const messages = session(
      { name: 'read_file', input: { path: 'a' }, output: 'one' },
      { name: 'edit_file', input: { path: 'a', old_string: 'x', new_string: 'y' }, output: 'no', isError: true },
      { name: 'edit_file', input: { path: 'a', old_string: 'x', new_string: 'y' }, output: 'Error: text not found' },
      { name: 'read_file', input: { path: 'a' }, output: 'Error: file is busy' },
    )
    assert.equal(fileStateAt(messages, 'a', 9).content, 'one')
    assert.deepEqual(changesIn(messages), [])
    const log = session({ name: 'read_file', input: { path: 'e.log' }, output: 'all of it\nExit code: 1' })
    assert.equal(fileStateAt(log, 'e.log', 1).content, 'all of it\nExit code: 1', 'a file may speak of exit codes')
  })

  test('different spellings of a path are the same file, and a late result counts for its turn', () => {
    const messages = session({ name: 'write_file', input: { path: './src/../a.ts', content: 'x' } })
    assert.equal(fileStateAt(messages, './a.ts', 1).content, 'x')
    const late: Message[] = [
      {
        role: 'assistant',
        parts: [{ type: 'tool-call', id: 'w', name: 'write_file', input: { path: 'b', content: 'late' } }],
      },
      ...session({ name: 'read_file', input: { path: 'a' }, output: 'other' }),
      { role: 'tool', parts: [{ type: 'tool-result', id: 'w', name: 'write_file', output: 'ok' }] },
    ]
    assert.equal(fileStateAt(late, 'b', 1).content, 'late')
  })

  test('declared custom tools are followed', () => {
    const tools = defineTools({ put: { kind: 'write', path: 'where', content: 'what' } })
    const messages = session({ name: 'put', input: { where: 'a', what: 'x' } })
    assert.equal(fileStateAt(messages, 'a', 1).content, undefined)
    assert.equal(fileStateAt(messages, 'a', 1, { tools }).content, 'x')
  })
})

describe('any history of a file', () => {
  const line = fc.constantFrom('const a = 1', 'const b = 2', '', '  return a', '}', '// $& $1', 'x')
  const text = fc.array(line, { minLength: 1, maxLength: 12 }).map(lines => `${lines.join('\n')}\n`)
  const how = fc.record({
    kind: fc.constantFrom(
      'read',
      'numbered',
      'partial',
      'write',
      'edit',
      'codex',
      'unified',
      'heredoc',
      'failed',
      'other',
    ),
    text,
    at: fc.nat(),
  })

  test('is rebuilt exactly or reported as unknown, and is known after every whole read or write', () => {
    fc.assert(
      fc.property(text, fc.array(how, { maxLength: 15 }), (start, steps) => {
        let truth = start
        const messages: Message[] = []
        for (const [i, step] of steps.entries()) {
          const { did, after } = act(truth, step)
          truth = after
          messages.push(...turn(did))
          const { content, basis } = fileStateAt(messages, 'src/f.ts', i + 1)
          if (content !== undefined)
            assert.equal(content.replace(/\n$/, ''), truth.replace(/\n$/, ''), basis.join('; '))
          if (['read', 'numbered', 'write', 'heredoc'].includes(step.kind)) assert.ok(content !== undefined)
        }
      }),
      { numRuns: 300 },
    )
  })

  /** Changes a file as different agents do, and returns its new content. */
  function act(
    before: string,
    { kind, text: fresh, at }: { kind: string; text: string; at: number },
  ): { did: Did; after: string } {
    const path = 'src/f.ts'
    const lines = before.split('\n')
    const old = lines[at % lines.length]!
    const unique = old !== '' && before.split(old).length === 2
    const word = `w${at}`
    switch (kind) {
      case 'numbered':
        return { did: { name: 'Read', input: { file_path: `/repo/${path}` }, output: numbered(before) }, after: before }
      case 'partial':
        return {
          did: { name: 'Read', input: { file_path: path, offset: 2, limit: 1 }, output: '     2→zz' },
          after: before,
        }
      case 'write':
        return { did: { name: 'write_file', input: { path, content: fresh } }, after: fresh }
      case 'edit': {
        if (!unique) return { did: { name: 'grep', input: { pattern: 'x' } }, after: before }
        const input = { path, old_string: old, new_string: `${old} // ${word} $&` }
        return { did: { name: 'edit_file', input }, after: before.split(old).join(input.new_string) }
      }
      case 'unified': {
        const patch = createTwoFilesPatch(`a/${path}`, `b/${path}`, before, fresh)
        return { did: { name: 'apply_patch', input: { patch } }, after: fresh }
      }
      case 'codex': {
        if (!unique || lines.filter(other => other === old).length !== 1)
          return { did: { name: 'ls', input: {} }, after: before }
        const patch = `*** Begin Patch\n*** Update File: ${path}\n@@\n-${old}\n+${word}\n*** End Patch`
        return {
          did: { name: 'apply_patch', input: { input: patch } },
          after: lines.map(other => (other === old ? word : other)).join('\n'),
        }
      }
      case 'heredoc':
        return {
          did: { name: 'bash', input: { command: `cat > ${path} <<'EOF'\n${fresh}EOF` }, output: '' },
          after: fresh,
        }
      case 'failed':
        return {
          did: { name: 'write_file', input: { path, content: 'never' }, output: 'denied', isError: true },
          after: before,
        }
      case 'other':
        return { did: { name: 'write_file', input: { path: 'src/other.ts', content: fresh } }, after: before }
      default:
        return { did: { name: 'read_file', input: { path }, output: before }, after: before }
    }
  }
})

describe('the changelog', () => {
  test('lists each change once, with its intent, in order', async () => {
    const pal = await openPalimpsest({ home: ':memory:' })
    const opened = await pal.session('s')
    await opened.append(
      ...session(
        { name: 'edit_file', input: { path: 'a.ts', old_string: 'a', new_string: 'b', intent: 'Rename the key' } },
        { name: 'edit_file', input: { path: 'a.ts', old_string: 'c', new_string: 'd', intent: 'Rename the key' } },
        { name: 'write_file', input: { path: 'b.ts', content: 'x' } },
        { name: 'read_file', input: { path: 'c.ts' }, output: 'x' },
        { name: 'bash', input: { command: "cat > d.ts <<'EOF'\nx\nEOF" }, output: '' },
        { name: 'edit_file', input: { path: 'e.ts', old_string: 'a', new_string: 'b' }, isError: true },
      ),
    )
    const { changes, text } = await opened.changelog()
    assert.deepEqual(
      changes.map(change => [change.turn, change.path, change.kind]),
      [
        [1, 'a.ts', 'edit'],
        [2, 'a.ts', 'edit'],
        [3, 'b.ts', 'write'],
        [5, 'd.ts', 'write'],
      ],
    )
    assert.equal(text, '- a.ts: Rename the key (2×)\n- b.ts: written\n- d.ts: written')
    assert.equal(toChangelog([]), '')
    assert.equal((await opened.fileStateAt('b.ts', 3)).content, 'x')
  })

  test('a patch of several files is a change of each', () => {
    const patch = '*** Begin Patch\n*** Add File: a.ts\n+x\n*** Update File: b.ts\n@@\n-x\n+y\n*** End Patch'
    const changes = changesIn(session({ name: 'apply_patch', input: { input: patch } }))
    assert.deepEqual(
      changes.map(change => [change.path, change.kind]),
      [
        ['a.ts', 'write'],
        ['b.ts', 'edit'],
      ],
    )
  })

  test('lists changes of files by commands, but not of folders and modes', () => {
    const told = (command: string) => toChangelog(changesIn(session({ name: 'bash', input: { command } })))
    const diff = '--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-x\n+y\n'
    assert.equal(told(`patch -p1 <<'EOF'\n${diff}EOF`), '- a.ts: edited')
    assert.equal(told(`git apply <<'EOF'\n${diff}EOF`), '- a.ts: edited')
    assert.equal(told("sed -i '2d' a.ts"), '- a.ts: edited')
    assert.equal(told("sed -i 's/x/y/' a.ts"), '- a.ts: edited')
    assert.equal(told("perl -pi -e 's/x/y/' a.ts"), '- a.ts: edited')
    assert.equal(told('echo x >> a.ts'), '- a.ts: edited')
    assert.equal(told('rm a.ts'), '- a.ts: removed')
    assert.equal(told('git rm a.ts'), '- a.ts: removed')
    assert.equal(told('mv a.ts b.ts'), '- b.ts: written\n- a.ts: removed')
    assert.equal(told('echo x > a.sh && chmod +x a.sh'), '- a.sh: written')
    assert.equal(told('mkdir -p lib && chmod +x run.sh && touch stamp'), '')
  })
})
