import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CallInfo, defineTools, describeCall } from '../../src/calls/tool-kinds.ts'
import { exitCode, stripLineNumbers } from '../../src/calls/tool-output.ts'
import { normalizePath, sameFile } from '../../src/model/paths.ts'
import * as fc from '../property.ts'

type Case = [name: string, input: unknown, expected: Partial<CallInfo>]

const TOOLS: Record<string, Case[]> = {
  'Claude Code': [
    ['Read', { file_path: '/r/a.ts' }, { kind: 'read', path: '/r/a.ts', range: undefined }],
    ['Read', { file_path: '/r/a.ts', offset: 10, limit: 5 }, { kind: 'read', range: [10, 14] }],
    ['Read', { file_path: 'D:\\r\\a.go', offset: 10 }, { kind: 'read', path: 'D:/r/a.go', range: [10, Infinity] }],
    [
      'Edit',
      { file_path: '/r/a', old_string: 'x', new_string: 'y', replace_all: true },
      { kind: 'edit', edits: [{ oldText: 'x', newText: 'y', all: true }] },
    ],
    [
      'MultiEdit',
      {
        file_path: '/r/a',
        edits: [
          { old_string: 'x', new_string: 'y' },
          { old_string: 'p', new_string: 'q' },
        ],
      },
      {
        kind: 'edit',
        oldText: 'x',
        newText: 'y',
        edits: [
          { oldText: 'x', newText: 'y' },
          { oldText: 'p', newText: 'q' },
        ],
      },
    ],
    ['Write', { file_path: '/r/a', content: 'hi' }, { kind: 'write', path: '/r/a', content: 'hi' }],
    [
      'Bash',
      { command: 'go test ./...', description: 'Run tests' },
      { kind: 'shell', command: 'go test ./...', intent: 'Run tests' },
    ],
    [
      'PowerShell',
      { command: 'Get-Content D:\\r\\a.go -TotalCount 20' },
      { kind: 'shell-read', path: 'D:/r/a.go', range: [1, 20] },
    ],
    ['Grep', { pattern: 'foo', path: 'src', glob: '*.go' }, { kind: 'search', query: 'foo', path: 'src' }],
    ['Glob', { pattern: '**/*.ts' }, { kind: 'search', query: '**/*.ts' }],
    ['BashOutput', { bash_id: 'x' }, { kind: 'shell' }],
    ['TodoWrite', { todos: [] }, { kind: 'todo' }],
    ['TaskUpdate', { taskId: '1' }, { kind: 'todo' }],
    ['Task', { description: 'look', prompt: '…' }, { kind: 'agent', intent: 'look' }],
    ['WebFetch', { url: 'https://a.b' }, { kind: 'fetch', query: 'https://a.b' }],
    ['mcp__filesystem__read_text_file', { path: 'a' }, { kind: 'read', path: 'a' }],
    ['mcp__linear-server__list_issues', { query: 'x' }, { kind: 'other' }],
  ],
  Codex: [
    [
      'exec_command',
      { cmd: "sed -n '1,220p' src/a.ts", workdir: '/r' },
      { kind: 'shell-read', path: '/r/src/a.ts', range: [1, 220] },
    ],
    ['shell', { command: ['bash', '-lc', 'rg -n foo src'] }, { kind: 'shell-search', query: 'foo', path: 'src' }],
    [
      'shell',
      { command: ['apply_patch', '*** Begin Patch\n*** Update File: a.ts\n*** End Patch'] },
      { kind: 'shell-write', path: 'a.ts' },
    ],
    [
      'apply_patch',
      '*** Begin Patch\n*** Add File: a.ts\n+x\n*** Update File: b/c.ts\n*** End Patch',
      { kind: 'edit', paths: ['a.ts', 'b/c.ts'] },
    ],
    ['write_stdin', { session_id: 1, chars: 'cat x\n' }, { kind: 'shell', command: 'cat x\n', path: undefined }],
    ['update_plan', { plan: [] }, { kind: 'todo' }],
    ['web_search_call', { query: 'x' }, { kind: 'fetch' }],
  ],
  opencode: [
    ['read', { filePath: '/r/a.ts', offset: 0, limit: 50 }, { kind: 'read', path: '/r/a.ts', range: [1, 50] }],
    ['edit', { filePath: '/r/a.ts', oldString: 'x', newString: 'y' }, { kind: 'edit', oldText: 'x', newText: 'y' }],
    [
      'apply_patch',
      { patchText: '*** Begin Patch\n*** Delete File: a.ts\n*** End Patch' },
      { kind: 'edit', path: 'a.ts' },
    ],
    ['todowrite', { todos: [] }, { kind: 'todo' }],
  ],
  pi: [
    ['read', { path: 'a.ts', offset: 5, limit: 2 }, { kind: 'read', path: 'a.ts', range: [5, 6] }],
    ['edit', { path: 'a.ts', edits: [{ oldText: 'x', newText: 'y' }] }, { kind: 'edit', oldText: 'x' }],
    ['find', { pattern: '*.ts', path: 'src' }, { kind: 'search', query: '*.ts', path: 'src' }],
    ['ls', { path: './src/' }, { kind: 'list', path: 'src' }],
  ],
  'Gemini CLI': [
    ['read_file', { file_path: 'a.ts', start_line: 3, end_line: 9 }, { kind: 'read', range: [3, 9] }],
    [
      'replace',
      { file_path: 'a.ts', instruction: 'why', old_string: 'x', new_string: 'y', allow_multiple: true },
      { kind: 'edit', intent: 'why', edits: [{ oldText: 'x', newText: 'y', all: true }] },
    ],
    ['run_shell_command', { command: 'ls -la', description: 'look' }, { kind: 'shell-search', intent: 'look' }],
    ['grep_search', { pattern: 'x', dir_path: 'src' }, { kind: 'search', query: 'x', path: 'src' }],
  ],
  'Copilot CLI': [
    ['view', { path: '/r/a.md', view_range: [3, -1] }, { kind: 'read', range: [3, Infinity] }],
    ['create', { path: '/r/a.md', file_text: 'x' }, { kind: 'write', content: 'x' }],
    ['edit', { path: '/r/a.md', old_str: 'x', new_str: 'y' }, { kind: 'edit', oldText: 'x', newText: 'y' }],
  ],
  'SWE-agent': [
    ['open', { path: 'setup.py', line_number: 30 }, { kind: 'read', path: 'setup.py', range: [30, Infinity] }],
    ['find_file', { file_name: 'a.py', dir: 'src' }, { kind: 'search', query: 'a.py', path: 'src' }],
    ['edit', { search: 'x', replace: 'y' }, { kind: 'edit', oldText: 'x', newText: 'y' }],
    ['bash', { command: 'open "setup.py" 12' }, { kind: 'shell-read', path: 'setup.py' }],
    ['bash', { command: 'edit 1:2\nrm -rf x\nend_of_edit' }, { kind: 'shell-write' }],
    ['bash', { command: 'create reproduce.py' }, { kind: 'shell-write', path: 'reproduce.py' }],
  ],
  'OpenHands and the text editor': [
    ['execute_bash', { command: 'cat a.c' }, { kind: 'shell-read', path: 'a.c' }],
    ['execute_ipython_cell', { code: 'cat = 1' }, { kind: 'shell', command: 'cat = 1' }],
    [
      'str_replace_editor',
      { command: 'view', path: '/w/a.c', view_range: [1, 20] },
      { kind: 'read', path: '/w/a.c', range: [1, 20] },
    ],
    [
      'str_replace_based_edit_tool',
      { command: 'str_replace', path: 'a', old_str: 'x', new_str: 'y' },
      { kind: 'edit', oldText: 'x' },
    ],
    [
      'str_replace_based_edit_tool',
      { command: 'insert', path: 'a', insert_line: 4, insert_text: 'x' },
      { kind: 'edit', how: 'insert', range: [4, 4], content: 'x' },
    ],
    ['memory', { command: 'create', path: '/memories/a', file_text: 'x' }, { kind: 'write', content: 'x' }],
    ['memory', { command: 'view', path: '/memories' }, { kind: 'read', path: '/memories' }],
    [
      'memory',
      { command: 'rename', old_path: '/memories/a', new_path: '/memories/b' },
      { kind: 'edit', paths: ['/memories/a', '/memories/b'] },
    ],
  ],
  ours: [
    ['read_file', { path: 'a' }, { kind: 'read', path: 'a' }],
    [
      'edit_file',
      { path: 'a', old_string: 'x', new_string: '', intent: 'tidy' },
      { kind: 'edit', oldText: 'x', newText: '', intent: 'tidy' },
    ],
    ['append_to_file', { path: 'a', content: 'x' }, { kind: 'edit', how: 'append', content: 'x' }],
    ['prepend_to_file', { path: 'a', content: 'x' }, { kind: 'edit', how: 'prepend', content: 'x' }],
    [
      'update_section',
      { path: 'a', section: '## B', content: 'x' },
      { kind: 'edit', how: 'section', query: '## B', content: 'x' },
    ],
    ['list_files', { path: '.' }, { kind: 'list' }],
    ['list_allowed_directories', {}, { kind: 'list' }],
    ['search_files', { pattern: 'x' }, { kind: 'search' }],
    ['run_command', { command: 'npm test' }, { kind: 'shell' }],
    ['undo_edit', {}, { kind: 'edit' }],
    ['workspace_save_fact', { fact: 'x' }, { kind: 'memory', content: 'x' }],
    ['list_memory_blocks', {}, { kind: 'memory' }],
    ['propose_memory_edit', { label: 'a', reasoning: 'so' }, { kind: 'memory', intent: 'so' }],
    ['recall', { query: 'x' }, { kind: 'memory', query: 'x' }],
    ['delegate', { description: 'x' }, { kind: 'agent' }],
    ['browser_visit', { url: 'http://x' }, { kind: 'fetch' }],
    ['db_query', { query: 'select 1' }, { kind: 'fetch', query: 'select 1' }],
    ['unfocus', {}, { kind: 'list' }],
    ['list_todos', {}, { kind: 'todo' }],
    ['get_progress', {}, { kind: 'todo' }],
  ],
}

for (const [agent, cases] of Object.entries(TOOLS)) {
  test(`the tools of ${agent} are classified with their arguments`, () => {
    for (const [name, input, expected] of cases)
      check(describeCall(name, input), expected, `${name} ${JSON.stringify(input)}`)
  })
}

const EOF = "<<'EOF'\nit's $HOME (text\nEOF\n"

const COMMANDS: [command: string, expected: Partial<CallInfo>][] = [
  ["sed -n '10,20p' src/a.ts", { kind: 'shell-read', path: 'src/a.ts', range: [10, 20] }],
  ["sed -n '10,$p' a", { kind: 'shell-read', range: [10, Infinity] }],
  ["sed -n '/from/,/to/p' a", { kind: 'shell-read', path: 'a', query: '/from/,/to/p' }],
  ["nl -ba src/a.ts | sed -n '1,80p'", { kind: 'shell-read', path: 'src/a.ts', range: [1, 80] }],
  ['cat a | head -n 50 | tail -n +41', { kind: 'shell-read', path: 'a', range: [41, 50] }],
  ['head -20 a', { kind: 'shell-read', range: [1, 20] }],
  ['head a | tail -3', { kind: 'shell-read', range: [8, 10] }],
  ['tail -n 30 log.txt', { kind: 'shell-read', path: 'log.txt', range: [-30, Infinity] }],
  ['tail -f log.txt', { kind: 'shell' }],
  ["awk 'NR>=5 && NR<=9' a.py", { kind: 'shell-read', path: 'a.py', range: [5, 9] }],
  ["awk '/x/ {print $1}' a.py", { kind: 'shell-search', path: 'a.py' }],
  ['bat -r 3:9 a.rs', { kind: 'shell-read', path: 'a.rs', range: [3, 9] }],
  ['cat a b', { kind: 'shell-read', paths: ['a', 'b'], range: undefined }],
  ["sed -n '1,5p' a && sed -n '9,12p' a", { kind: 'shell-read', path: 'a', range: undefined, query: '1-5 9-12' }],
  ['cat < a', { kind: 'shell-read', path: 'a' }],
  ['cat "my file.txt" 2>/dev/null', { kind: 'shell-read', path: 'my file.txt' }],
  ["cat 'app/$id.tsx'", { kind: 'shell-read', path: 'app/$id.tsx' }],
  ['cat "$f"', { kind: 'shell-read', path: undefined }],
  ['cat $(git ls-files)', { kind: 'shell-read', path: undefined }],
  ['cd sub/x && cat ../a.ts', { kind: 'shell-read', path: 'sub/a.ts' }],
  ['(cd sub && ls); cat a', { kind: 'shell-search', paths: ['a'] }],
  ['cd "$DIR" && cat a', { kind: 'shell-read', path: undefined }],
  ['FOO=1 timeout 30 cat a', { kind: 'shell-read', path: 'a' }],
  ['bash -lc "cd /r && sed -n \'3,4p\' a"', { kind: 'shell-read', path: '/r/a', range: [3, 4] }],
  ['echo "== a =="; cat a', { kind: 'shell-read', path: 'a' }],
  ['for f in a b; do cat "$f"; done', { kind: 'shell-read' }],
  ['cat a # then && rm b', { kind: 'shell-read', path: 'a' }],
  ['cat \\\n  a', { kind: 'shell-read', path: 'a' }],
  ['rg -n -g "*.ts" "foo|bar" src test | head -50', { kind: 'shell-search', query: 'foo|bar', paths: ['src', 'test'] }],
  ['cat a | grep x', { kind: 'shell-search', path: 'a', query: 'x' }],
  ['ls -la src', { kind: 'shell-search', path: 'src' }],
  ['find . -name "*.ts" -exec grep -l x {} \\;', { kind: 'shell-search' }],
  ['find . -name "*.tmp" -delete', { kind: 'shell' }],
  ['git --no-pager diff -- src/a.ts', { kind: 'shell-search', path: 'src/a.ts' }],
  ['git status && git log --oneline -5', { kind: 'shell-search' }],
  ['git branch -a', { kind: 'shell-search' }],
  ['git branch new', { kind: 'shell' }],
  ['git stash', { kind: 'shell' }],
  ["git commit -m \"$(cat <<'EOF'\nit's (done\nEOF\n)\" && cat a", { kind: 'shell' }],
  ['wc -l a; tree -L 2 src', { kind: 'shell-search' }],
  ['rg -l x | xargs sed -n 1,5p', { kind: 'shell-search' }],
  [
    `cat > a.py ${EOF}`,
    {
      kind: 'shell-write',
      path: 'a.py',
      content: "it's $HOME (text\n",
      writes: [{ path: 'a.py', content: "it's $HOME (text\n" }],
    },
  ],
  [`cat ${EOF.replace('\n', ' >> a.py\n')}`, { kind: 'shell-write', path: 'a.py', how: 'append' }],
  [`mkdir -p x && cat > x/a ${EOF}cat x/a`, { kind: 'shell-write', paths: ['x', 'x/a'] }],
  [`cat > a.py ${EOF}python a.py`, { kind: 'shell', writes: [{ path: 'a.py', content: "it's $HOME (text\n" }] }],
  ['echo hello world > a', { kind: 'shell-write', content: 'hello world\n' }],
  ['echo hello', { kind: 'shell' }],
  [`tee a b ${EOF}`, { kind: 'shell-write', paths: ['a', 'b'] }],
  ["sed -i 's/a/b/' src/a.ts", { kind: 'shell-write', path: 'src/a.ts' }],
  ["sed -i '' -e 's/a/b/' src/a.ts", { kind: 'shell-write', path: 'src/a.ts' }],
  [
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.ts\n*** End Patch\nEOF",
    { kind: 'shell-write', path: 'src/a.ts' },
  ],
  [
    'rm a b',
    {
      kind: 'shell-write',
      writes: [
        { path: 'a', removed: true },
        { path: 'b', removed: true },
      ],
    },
  ],
  ['mv a b', { kind: 'shell-write', writes: [{ path: 'b' }, { path: 'a', removed: true }] }],
  ['cp a b lib/', { kind: 'shell-write', paths: ['lib/a', 'lib/b'] }],
  ['chmod +x run.sh', { kind: 'shell-write', paths: ['run.sh'] }],
  ['grep x a > out.txt', { kind: 'shell-write', path: 'out.txt' }],
  ['go test ./... 2>&1 | tail -30', { kind: 'shell' }],
  ['go test > out.txt; cat out.txt', { kind: 'shell', writes: [{ path: 'out.txt' }] }],
  ['./grep x', { kind: 'shell' }],
  ['cat a | python3 -m json.tool', { kind: 'shell' }],
  ['curl -s https://x | jq .', { kind: 'shell' }],
  ['', { kind: 'shell' }],
  ['cat "open', { kind: 'shell-read' }],
]

test('a shell command is classified by its effect', () => {
  for (const [command, expected] of COMMANDS) check(describeCall('bash', { command }), expected, command)
})

test('a custom table overrides the built-in one', () => {
  const tools = defineTools({ my_tool: { kind: 'read', path: 'doc' }, Bash: { kind: 'other' } })
  check(describeCall('my_tool', { doc: 'a/./b' }, tools), { kind: 'read', path: 'a/b' }, 'my_tool')
  check(describeCall('mcp__x__my_tool', { doc: 'a' }, tools), { kind: 'read', path: 'a' }, 'mcp__x__my_tool')
  check(describeCall('Bash', { command: 'ls' }, tools), { kind: 'other' }, 'Bash')
  check(describeCall('Read', { file_path: 'a' }, tools), { kind: 'read' }, 'Read')
})

test('arguments in a JSON string are parsed, other strings give fewer fields', () => {
  check(describeCall('bash', '{"command":"ls"}'), { kind: 'shell-search' }, 'JSON')
  check(describeCall('bash', '{"command":'), { kind: 'shell' }, 'cut JSON')
  for (const input of [undefined, null, 3, [], { file_path: 7 }, { file_path: null }])
    assert.deepEqual(describeCall('Read', input), { kind: 'read' })
})

test('the classification never throws', () => {
  const pieces = fc.constantFrom(
    'cat',
    ' ',
    "'",
    '"',
    '$(',
    ')',
    '`',
    '<<EOF',
    '\n',
    'EOF',
    '|',
    '>',
    '<',
    '&',
    ';',
    '\\',
    'sed -n',
    '-i',
    '$x',
    '(',
    'git',
    '#',
  )
  fc.assert(
    fc.property(
      fc.array(pieces, { maxLength: 40 }),
      words => typeof describeCall('bash', { command: words.join('') }).kind === 'string',
    ),
  )
  fc.assert(
    fc.property(fc.string(), fc.jsonValue(), (name, input) => typeof describeCall(name, input).kind === 'string'),
  )
  assert.equal(describeCall('bash', { command: '"$('.repeat(100_000) }).kind, 'shell')
  for (const name of ['__proto__', 'constructor', 'toString']) {
    assert.equal(describeCall('bash', { command: name }).kind, 'shell')
    assert.equal(typeof describeCall(name, { [name]: name }).kind, 'string')
  }
})

test('each path is normalised to one spelling', () => {
  const cases: [string, string | undefined, string][] = [
    ['./a//b/', undefined, 'a/b'],
    ['a/../b', undefined, 'b'],
    ['../a', undefined, '../a'],
    ['/../a', undefined, '/a'],
    ['..\\x\\y', 'C:\\r\\z', 'C:/r/x/y'],
    ['c:/a', undefined, 'C:/a'],
    ['a', '/r', '/r/a'],
    ['/a', '/r', '/a'],
    ['~/a', '/r', '~/a'],
    ['.', undefined, '.'],
    ['/', undefined, '/'],
    ['\\\\host\\share\\a', undefined, '//host/share/a'],
    ['.\\a:', undefined, './a:'],
    ['x/../c:/d', undefined, './c:/d'],
  ]
  for (const [path, cwd, expected] of cases) assert.equal(normalizePath(path, cwd), expected)
  const path = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('\\', '/', '.', 'a', 'C', ':') }))
  fc.assert(fc.property(path, path => normalizePath(normalizePath(path)) === normalizePath(path)))
})

test('a relative path matches the absolute path that ends with it', () => {
  assert.ok(sameFile('src/a.ts', '/r/src/a.ts'))
  assert.ok(!sameFile('a.ts', '/r/ba.ts'))
  assert.ok(!sameFile('/q/src/a.ts', '/r/src/a.ts'))
})

test('exit codes are read from the output formats of agents', () => {
  const cases: [string, number | undefined][] = [
    ['Chunk ID: f7\nWall time: 0.1 seconds\nProcess exited with code 2\nOriginal token count: 3\nOutput:\nx', 2],
    ['Chunk ID: f7\nWall time: 0.1 seconds\nProcess running with session ID 4\nOutput:\nx', undefined],
    ['Exit code: 0\nWall time: 1 seconds\nOutput:\nfoo', 0],
    ['{"output":"x\\n","metadata":{"exit_code":1,"duration_seconds":0.1}}', 1],
    ['Exit code 127\nnot found', 127],
    ['<returncode>-9</returncode>\n<output>\n', -9],
    ['text\n<shellId: 3 completed with exit code 1>', 1],
    ['text\n\nCommand exited with code 1', 1],
    ['3 tests failed\n[exit code 1]', 1],
    ['text\n[The command completed with exit code 3.]\n[Current working directory: /w]', 3],
    ['Output: x\nExit Code: 1\nProcess Group PGID: 7', 1],
    ['all well', undefined],
    ['', undefined],
  ]
  for (const [output, expected] of cases) assert.equal(exitCode(output), expected, output)
})

test('line numbers are removed in the formats of agents', () => {
  const plain = 'one\n\n  three: 3\nfour'
  const number = (form: (n: number) => string) =>
    plain
      .split('\n')
      .map((line, at) => form(at + 1) + line)
      .join('\n')
  assert.equal(stripLineNumbers(number(n => `${String(n).padStart(6)}→`)), plain)
  assert.equal(stripLineNumbers(number(n => `${String(n + 98).padStart(6)}\t`)), plain)
  assert.equal(stripLineNumbers(number(n => `${String(n).padStart(5, '0')}| `)), plain)
  assert.equal(stripLineNumbers(number(n => `${n}. `)), plain)
  assert.equal(
    stripLineNumbers(`<path>/a</path>\n<content>\n${number(n => `${n}: `)}\n\n(End of file)\n</content>`),
    `<path>/a</path>\n<content>\n${plain}\n\n(End of file)\n</content>`,
  )
  assert.equal(
    stripLineNumbers(`Here's the result of running \`cat -n\`:\n${number(n => `     ${n}\t`)}`),
    `Here's the result of running \`cat -n\`:\n${plain}`,
  )
})

test('text that only looks numbered stays', () => {
  for (const text of ['# Steps\n\n1. one\n2. two\n', 'a\nb', '10:20 meeting\n12:30 lunch', '', '7\tx\n3\ty\n9\tz'])
    assert.equal(stripLineNumbers(text), text)
})

function check(actual: CallInfo, expected: Partial<CallInfo>, label: string): void {
  for (const [key, value] of Object.entries(expected))
    assert.deepEqual(actual[key as keyof CallInfo], value, `${label}: ${key}`)
}
