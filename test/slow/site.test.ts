/** The site of docs/ builds: without dead links, with a search and a list for programs that read it. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')
const skip = !existsSync(join(ROOT, 'site/node_modules')) && 'the parts of the site are not here (npm run site:install)'

test('the site builds, with a page for each of docs/, a search and llms.txt', { skip }, () => {
  // VitePress fails on a link to a missing page.
  execFileSync('npm', ['run', 'site'], { cwd: ROOT, stdio: 'pipe' })
  const built = (path: string) => readFileSync(join(ROOT, 'site/dist', path), 'utf8')
  const pages = globSync('*.md', { cwd: join(ROOT, 'docs') }).map(name => name.replace(/\.md$/, ''))
  const list = built('llms.txt')
  for (const page of pages) {
    assert.match(built(`${page}.html`), /<title>/)
    assert.ok(list.includes(`/${page}.md)`), page)
    assert.equal(built(`${page}.md`), readFileSync(join(ROOT, 'docs', `${page}.md`), 'utf8'))
  }
  assert.equal(globSync('site/dist/assets/chunks/*localSearchIndex*.js', { cwd: ROOT }).length, 1)
})
