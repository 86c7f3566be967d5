/**
 * Makes a release: `npm run release -- 0.2.0`. Checks that the tree is clean, the version is new and the changelog has
 * entries; runs the tests; moves "Unreleased" under the version; commits and tags. Pushing the tag publishes it.
 *
 * `--check VERSION` only compares package.json and the changelog with a version; `--notes VERSION` prints its section.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const ROOT = join(import.meta.dirname, '..')
const EMPTY = '## Unreleased\n\n### Added\n\n### Changed\n\n### Fixed\n'

/** The changelog with its unreleased entries under a version; empty groups are removed. */
export function releaseChangelog(text: string, version: string, day: string): string {
  const body = sectionOf(text, 'Unreleased')
  const groups = body.split(/^(?=### )/m).filter(group => group.trim() !== '' && !/^### .*\s*$/.test(group.trim()))
  if (groups.length === 0) throw new Error('CHANGELOG.md has nothing under "Unreleased": there is nothing to release.')
  const at = text.indexOf('## Unreleased')
  const rest = text.slice(at + '## Unreleased'.length + body.length)
  const section = `## ${version} - ${day}\n\n${groups.map(group => group.trim()).join('\n\n')}\n\n`
  return `${text.slice(0, at)}${EMPTY}\n${section}${rest.trimStart()}`
}

/** The text under a heading of the changelog. */
export function sectionOf(text: string, name: string): string {
  const heads = [...text.matchAll(/^## (\S+).*$/gm)]
  const index = heads.findIndex(head => head[1] === name)
  const head = heads[index]
  if (!head) throw new Error(`CHANGELOG.md has no section ${name}.`)
  return text.slice(head.index + head[0].length, heads[index + 1]?.index ?? text.length)
}

/** The reasons why a version cannot be released. */
export function problemsOf(version: string, { current, tags, status }: State): string[] {
  const problems: string[] = []
  if (!/^\d+\.\d+\.\d+$/.test(version)) problems.push(`${version} is no version: write it as 0.2.0.`)
  else if (compare(version, current) <= 0 && tags.length > 0) problems.push(`${version} is not after ${current}.`)
  if (tags.includes(`v${version}`)) problems.push(`There is a tag v${version} already.`)
  if (status !== '') problems.push(`The tree has changes that are not committed:\n${status}`)
  return problems
}

type State = { current: string; tags: readonly string[]; status: string }

function compare(a: string, b: string): number {
  const [x, y] = [a, b].map(version => version.split('.').map(Number))
  return x!.map((number, i) => number - (y![i] ?? 0)).find(difference => difference !== 0) ?? 0
}

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')

function release(version: string): void {
  const { version: current } = JSON.parse(read('package.json'))
  const tags = git('tag', '--list', 'v*').split('\n').filter(Boolean)
  const problems = problemsOf(version, { current, tags, status: git('status', '--porcelain') })
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const changelog = releaseChangelog(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10))
  execFileSync('npm', ['test'], { cwd: ROOT, stdio: 'inherit' })
  writeFileSync(join(ROOT, 'CHANGELOG.md'), changelog)
  execFileSync('npm', ['version', version, '--no-git-tag-version', '--allow-same-version'], { cwd: ROOT })
  git('commit', '--all', '--message', `Release ${version}`)
  git('tag', '--annotate', `v${version}`, '--message', `Release ${version}`)
  console.log(`v${version} is tagged. Publish it with: git push --follow-tags`)
}

function check(version: string): void {
  const { version: current } = JSON.parse(read('package.json'))
  if (current !== version) throw new Error(`package.json says ${current}, the tag says ${version}.`)
  sectionOf(read('CHANGELOG.md'), version)
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { check: { type: 'string' }, notes: { type: 'string' } },
    allowPositionals: true,
  })
  try {
    if (values.check) check(values.check)
    else if (values.notes) console.log(sectionOf(read('CHANGELOG.md'), values.notes).trim())
    else release(positionals[0] ?? '')
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
