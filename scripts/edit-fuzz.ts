/**
 * Runs the same generated cases against our edit_file and against the edit tools of other packages, and writes the
 * table of wrong results to docs/edit-fuzz.md. `npm run fuzz:edits`; packages that are not installed here are looked
 * for in the folder that PALIMPSEST_PEERS names, and skipped with a line otherwise. Fails if ours is ever wrong.
 */

import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { memoryJournal } from '../src/files/journal.ts'
import { editFile } from '../src/tools/edit-files.ts'
import { runTool } from '../src/tools/tool.ts'
import { type Case, makeCases } from './edit-fuzz-cases.ts'

/** Resolves to true when the tool reports success, false when it reports an error. */
type Editor = {
  name: string
  edit: (file: string, oldText: string, newText: string) => Promise<boolean>
  close?: () => Promise<void>
}

/** The path of a case's file, from the folder that the editor works in. */
type Opened = Editor & { path: string }

const WRONG = {
  corrupted: 'reported success, but the file holds something other than the edit',
  guessed: 'reported success, although the old text is not in the file exactly once',
  damaged: 'reported an error, but changed the file',
  refused: 'reported an error, although the old text is in the file exactly once',
  'mode lost': 'changed the permissions of the file',
} as const

type Wrong = keyof typeof WRONG
type Finding = { editor: string; category: string; wrong: Wrong; example: Case; found: Buffer }

const OPENERS = [openOurs, openMemoryTool, openSdkEdit, openMcpFilesystem, openDeepagents]
const PAGE = join(import.meta.dirname, '..', 'docs', 'edit-fuzz.md')

const cases = makeCases()
const home = mkdtempSync(join(tmpdir(), 'edit-fuzz-'))
process.env.PALIMPSEST_LOCKS ??= join(home, 'locks')
try {
  const editors: string[] = []
  const findings: Finding[] = []
  for (const open of OPENERS) {
    const editor = await open(mkdtempSync(join(home, 'root-')))
    if (!editor) continue
    editors.push(editor.name)
    for (const example of cases) findings.push(...(await tryCase(editor, example)))
    await editor.close?.()
    console.log(
      `${editor.name}: ${findings.filter(finding => finding.editor === editor.name).length} wrong of ${cases.length}`,
    )
  }
  if (editors.length === OPENERS.length) {
    writeFileSync(PAGE, report(editors, findings))
    console.log('written: docs/edit-fuzz.md')
  } else console.log('docs/edit-fuzz.md is left as it is: not every package is there')
  if (findings.some(finding => finding.editor === editors[0])) process.exitCode = 1
} finally {
  rmSync(home, { recursive: true, force: true })
}

async function tryCase(editor: Opened, example: Case): Promise<Finding[]> {
  writeFileSync(editor.path, example.bytes)
  chmodSync(editor.path, example.mode ?? 0o600)
  const done = await editor.edit(editor.path, example.oldText, example.newText)
  const found = readFileSync(editor.path)
  const finding = (wrong: Wrong) => [{ editor: editor.name, category: example.category, wrong, example, found }]
  if (!done) {
    if (!found.equals(example.bytes)) return finding('damaged')
    return example.mayRefuse ? [] : finding('refused')
  }
  const unchanged = found.equals(example.bytes)
  if (example.accepted.length === 0 && !unchanged) return finding('guessed')
  if (example.accepted.length === 0 || !example.accepted.some(bytes => bytes.equals(found))) return finding('corrupted')
  const { mode = 0o600 } = example
  return (statSync(editor.path).mode & 0o777) === mode ? [] : finding('mode lost')
}

async function openOurs(root: string): Promise<Opened> {
  const context = { root, journal: memoryJournal(), now: () => 0 }
  return {
    name: 'palimpsest edit_file',
    path: join(root, 'file.txt'),
    edit: async (_, old_string, new_string) =>
      !(await runTool(editFile, { path: 'file.txt', old_string, new_string }, context)).isError,
  }
}

/** `memory` of the Anthropic SDK. */
async function openMemoryTool(root: string): Promise<Opened | undefined> {
  const peer = await importPeer('@anthropic-ai/sdk', 'tools/memory/node.mjs')
  if (!peer) return undefined
  const memory = await peer.module.BetaLocalFilesystemMemoryTool.init(root)
  return {
    name: `${peer.name} memory tool`,
    path: join(root, 'memories', 'file.txt'),
    edit: (_, old_str, new_str) =>
      succeeds(memory.str_replace({ command: 'str_replace', path: '/memories/file.txt', old_str, new_str })),
  }
}

/** `edit` of the Anthropic SDK's agent toolset. */
async function openSdkEdit(root: string): Promise<Opened | undefined> {
  const peer = await importPeer('@anthropic-ai/sdk', 'tools/agent-toolset/node.mjs')
  if (!peer?.module.betaEditTool) return undefined
  const tool = peer.module.betaEditTool({ workdir: root })
  return {
    name: `${peer.name} edit`,
    path: join(root, 'file.txt'),
    edit: (_, old_string, new_string) => succeeds(tool.run({ file_path: 'file.txt', old_string, new_string })),
  }
}

/** `edit_file` of the MCP project's filesystem server, over stdio. */
async function openMcpFilesystem(root: string): Promise<Opened | undefined> {
  const peer = findPeer('@modelcontextprotocol/server-filesystem')
  if (!peer) return undefined
  const client = new Client({ name: 'edit-fuzz', version: '0' })
  const args = [join(peer.folder, 'dist', 'index.js'), root]
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }))
  return {
    name: `${peer.name} edit_file`,
    path: join(root, 'file.txt'),
    edit: async (path, oldText, newText) => {
      const call = { name: 'edit_file', arguments: { path, edits: [{ oldText, newText }] } }
      return client.callTool(call).then(
        result => !result.isError,
        () => false,
      )
    },
    close: () => client.close(),
  }
}

/** The backend that `edit_file` of deepagents calls. */
async function openDeepagents(root: string): Promise<Opened | undefined> {
  const peer = await importPeer('deepagents', 'dist/index.js')
  if (!peer) return undefined
  const backend = new peer.module.FilesystemBackend({ rootDir: root, virtualMode: true })
  return {
    name: `${peer.name} edit_file`,
    path: join(root, 'file.txt'),
    edit: async (_, oldText, newText) => !(await backend.edit('/file.txt', oldText, newText)).error,
  }
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

type Peer = { name: string; folder: string }

function findPeer(name: string): Peer | undefined {
  const places = [import.meta.url, ...(process.env.PALIMPSEST_PEERS ? [placeOf(process.env.PALIMPSEST_PEERS)] : [])]
  for (const place of places) {
    const manifest = manifestOf(name, place)
    if (!manifest) continue
    const { version } = JSON.parse(readFileSync(manifest, 'utf8'))
    return { name: `${name} ${version}`, folder: dirname(manifest) }
  }
  console.log(`skipped: ${name} is not installed (set PALIMPSEST_PEERS to a folder with its node_modules)`)
  return undefined
}

/** The package.json of an installed package; looking for one that is not installed throws. */
function manifestOf(name: string, place: string): string | undefined {
  try {
    return findPackageJSON(name, place)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}

function placeOf(folder: string): string {
  return pathToFileURL(join(resolve(folder), 'package.json')).href
}

// biome-ignore lint/suspicious/noExplicitAny: other packages' modules, used as their documentation says
async function importPeer(name: string, file: string): Promise<(Peer & { module: any }) | undefined> {
  const peer = findPeer(name)
  return peer && { ...peer, module: await import(pathToFileURL(join(peer.folder, file)).href) }
}

function report(editors: string[], findings: Finding[]): string {
  const categories = [...new Set(cases.map(example => example.category))]
  const count = (editor: string, category?: string) =>
    findings.filter(finding => finding.editor === editor && (category === undefined || finding.category === category))
  const cell = (editor: string, category?: string) => summary(count(editor, category))
  const row = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [
    '# Edit tools compared on the same cases',
    '',
    `Every tool gets the same ${cases.length} generated cases. \`npm run fuzz:edits\` writes this page; the contract and the`,
    'cases are in `scripts/edit-fuzz-cases.ts`. The table counts wrong results; an empty cell means none.',
    '',
    ...Object.entries(WRONG).map(([name, meaning]) => `- **${name}**: ${meaning}`),
    '',
    'Two of these differences are intended: server-filesystem documents that it matches whitespace loosely, and the SDK',
    'memory tool gives its files mode 0600 on purpose. The table counts them, because the contract does.',
    '',
    row(['case', 'number', ...editors]),
    row(['---', '---:', ...editors.map(() => '---')]),
    ...categories.map(category =>
      row([
        category,
        String(cases.filter(example => example.category === category).length),
        ...editors.map(editor => cell(editor, category)),
      ]),
    ),
    row(['**all**', String(cases.length), ...editors.map(editor => `**${count(editor).length}**`)]),
    '',
    ...examples(findings),
  ].join('\n')
}

function summary(findings: Finding[]): string {
  const kinds = Map.groupBy(findings, finding => finding.wrong)
  return [...kinds].map(([wrong, list]) => `${list.length} ${wrong}`).join(', ')
}

/** One example of each kind of wrong result of each tool. */
function examples(findings: Finding[]): string[] {
  const first = Map.groupBy(findings, ({ editor, wrong }) => `${editor}\0${wrong}`)
  const lines = [...first.values()].flatMap(([finding]) => (finding ? [exampleLine(finding)] : []))
  return lines.length === 0 ? [] : ['## One example of each kind', '', ...lines, '']
}

function exampleLine({ editor, category, wrong, example, found }: Finding): string {
  const show = (text: Buffer | string) => `\`${clipped(JSON.stringify(text.toString()))}\``
  const result = wrong === 'refused' ? '' : ` → ${show(found)}`
  return `- ${editor}, ${category}, ${wrong}: ${show(example.bytes)}, ${show(example.oldText)} by ${show(example.newText)}${result}`
}

function clipped(text: string): string {
  const safe = text.replaceAll('`', 'ˋ').replaceAll('|', '\\|')
  return safe.length > 90 ? `${safe.slice(0, 40)}…${safe.slice(-40)}` : safe
}
