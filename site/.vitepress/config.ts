/** The site of docs/: a menu, a search that runs in the browser, and llms.txt with every page as plain Markdown. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { headOf, PAGES } from '../pages.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const { GITHUB_REPOSITORY = '', SITE_BASE = '/' } = process.env
const repository = GITHUB_REPOSITORY && `https://github.com/${GITHUB_REPOSITORY}`
const page = (name: string) => headOf(readFileSync(join(DOCS, `${name}.md`), 'utf8'))

export default defineConfig({
  title: 'Palimpsest',
  description: 'A memory and context engine for LLM agents',
  srcDir: DOCS,
  outDir: join(import.meta.dirname, '../dist'),
  cacheDir: join(import.meta.dirname, '../node_modules/.cache/vitepress'),
  base: SITE_BASE,
  cleanUrls: true,
  // Pages are outside of this folder, where Vue is not found by itself.
  vite: { resolve: { alias: { vue: join(import.meta.dirname, '../node_modules/vue') } } },
  markdown: {
    config(markdown) {
      // Files beside docs/ are in the repository, not on the site.
      markdown.core.ruler.push('outside', state => {
        for (const { children } of state.tokens) {
          for (const token of children ?? []) {
            const href = token.type === 'link_open' ? token.attrGet('href') : null
            if (href?.startsWith('../')) token.attrSet('href', repository ? `${repository}/blob/HEAD/${href.slice(3)}` : '#')
          }
        }
      })
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    ...(repository ? { socialLinks: [{ icon: 'github', link: repository }] } : {}),
    sidebar: Object.entries(PAGES).map(([text, names]) => ({
      text,
      items: names.map(name => ({ text: page(name).title, link: name === 'index' ? '/' : `/${name}` })),
    })),
  },
  buildEnd({ outDir }) {
    const sections = Object.entries(PAGES).map(([section, names]) => {
      const lines = names.map(name => {
        copyFileSync(join(DOCS, `${name}.md`), join(outDir, `${name}.md`))
        const { title, first } = page(name)
        return `- [${title}](${SITE_BASE}${name}.md)${first ? `: ${first}` : ''}`
      })
      return `## ${section}\n\n${lines.join('\n')}\n`
    })
    const about = '> A memory and context engine for LLM agents: what happened is never changed, what the model is shown is.'
    writeFileSync(join(outDir, 'llms.txt'), `# Palimpsest\n\n${about}\n\n${sections.join('\n')}`)
  },
})
