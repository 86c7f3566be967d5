/** The public surface: a list by hand, and a program for every name in it. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '..')
const run = promisify(execFile)
const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const MODULES = Object.entries<{ default: string }>(exports)
  .filter(([, target]) => typeof target !== 'string')
  .map(([subpath, target]) => ({
    name: subpath.replace(/^\./, 'palimpsest'),
    path: target.default.replace(/^\.\/dist\/(.*)\.js$/, 'src/$1.ts'),
  }))

/** The names of types in the `export` statements of a module, and those that it declares. */
function typesIn(code: string): string[] {
  const lists = [...code.matchAll(/^export (type )?\{([^}]*)\}/gm)]
  const listed = lists.flatMap(([, all, names]) =>
    names!.split(',').flatMap(name => (all ? name.trim() : /^\s*type (\w+)/.exec(name)?.[1]) || []),
  )
  return [...listed, ...[...code.matchAll(/^export type (\w+)/gm)].map(match => match[1]!)]
}

async function valuesOf(path: string): Promise<string[]> {
  return Object.keys(await import(pathToFileURL(join(ROOT, path)).href)).sort()
}

test('the public names are those of test/surface.json, and no others', async () => {
  const found: Record<string, { values: string[]; types: string[] }> = {}
  for (const { name, path } of MODULES) {
    const types = typesIn(readFileSync(join(ROOT, path), 'utf8')).sort()
    found[name] = { values: await valuesOf(path), types }
  }
  const file = join(import.meta.dirname, 'surface.json')
  if (process.env['UPDATE_SURFACE']) writeFileSync(file, `${JSON.stringify(found, null, 2)}\n`)
  assert.deepEqual(found, JSON.parse(readFileSync(file, 'utf8')), 'run with UPDATE_SURFACE=1 if this is meant')
})

describe('docs/library.md and docs/own-policy.md', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'palimpsest-library-')))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  after(() => rmSync(folder, { recursive: true, force: true }))
  const page = readFileSync(join(ROOT, 'docs/library.md'), 'utf8')
  const own = readFileSync(join(ROOT, 'docs/own-policy.md'), 'utf8')
  const blocks = (text: string) => [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(match => match[1]!)
  const programs = [...blocks(page), blocks(own).join('\n')]
  const files = programs.map((code, i) => {
    const file = join(folder, `program-${i}.ts`)
    writeFileSync(file, code)
    return file
  })

  for (const [i, file] of files.entries()) {
    const first = /palimpsest\/[\w-]+/.exec(programs[i]!.replace(/.*'palimpsest'\n/, ''))?.[0] ?? 'palimpsest'
    test(`program ${i + 1} runs (${first})`, async () => {
      const hook = pathToFileURL(join(import.meta.dirname, 'source-hook.ts')).href
      const { stdout } = await run(process.execPath, ['--import', hook, file], { cwd: folder })
      if (/console\.log/.test(programs[i]!)) assert.notEqual(stdout, '')
    })
  }

  // Together with the examples, because reading the types takes long and is then done once.
  test('all programs and the examples compile', async () => {
    const paths = Object.fromEntries(MODULES.map(({ name, path }) => [name, [join(ROOT, path)]]))
    const compilerOptions = {
      paths,
      noEmit: true,
      incremental: false,
      tsBuildInfoFile: null,
      typeRoots: [join(ROOT, 'node_modules/@types')],
    }
    const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, files, include: [join(ROOT, 'examples')] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    await run(process.execPath, [tsc, '-p', folder]).catch(error => assert.fail(error.stdout))
  })

  test('every public name is used in a program', async () => {
    const imported = programs.join('\n').replace(/\s+/g, ' ')
    for (const { name, path } of MODULES) {
      const lists = [...imported.matchAll(/import \{([^}]*)\} from '([^']+)'/g)].filter(([, , from]) => from === name)
      const used = new Set(lists.flatMap(([, names]) => names!.split(',').map(one => one.trim())))
      for (const value of await valuesOf(path)) assert.ok(used.has(value), `${name}: ${value} has no example`)
    }
  })
})
