/**
 * The demo: a sample project in a temporary folder and the scripted model, so that a new user sees the whole loop
 * without a key. Nothing outside that folder is changed, and the folder is kept.
 */

import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { DEFAULT_HOME } from '../model/defaults.ts'
import { DEMO_MODEL, startDemoModel } from './demo-model.ts'
import type { ModelSettings } from './model.ts'

export type Demo = {
  home: string
  root: string
  workspace: string
  model: ModelSettings
  close(): Promise<void>
}

export async function startDemo({
  home,
  pace,
}: {
  home?: string | undefined
  pace?: number | undefined
} = {}): Promise<Demo> {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-demo-'))
  const root = join(folder, 'shop')
  await makeProject(root)
  const server = await startDemoModel(pace === undefined ? {} : { pace })
  return {
    home: home === undefined ? join(folder, DEFAULT_HOME) : resolve(home),
    root,
    workspace: join(folder, 'workspace'),
    model: { provider: 'openai-compatible', name: DEMO_MODEL, baseUrl: server.url },
    close: () => server.close(),
  }
}

async function makeProject(root: string): Promise<void> {
  for (const [path, text] of Object.entries(PROJECT)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
}

const PROJECT: Record<string, string> = {
  'README.md': `# Shop

A cart and its total.

- \`src/cart.js\`: the cart
- \`test/cart.test.js\`: its tests, run with \`node --test\`
- \`logs/build.log\`: the last build
`,
  'package.json': '{ "name": "shop", "private": true, "type": "module" }\n',
  'src/cart.js': `/** What a cart costs, in cents. */
export function total(items) {
  return items.reduce((sum, item) => sum + item.price, 0)
}

export function add(items, item) {
  return [...items, { quantity: 1, ...item }]
}
`,
  'test/cart.test.js': `import assert from 'node:assert/strict'
import test from 'node:test'
import { add, total } from '../src/cart.js'

test('an item has a quantity of one unless given', () => {
  assert.deepEqual(add([], { price: 300 }), [{ quantity: 1, price: 300 }])
})

test('the total counts every piece', () => {
  assert.equal(total([{ price: 300, quantity: 2 }, { price: 50, quantity: 1 }]), 650)
})
`,
  'logs/build.log': `${Array.from({ length: 120 }, (_, i) => {
    const module = String(i + 1).padStart(3, '0')
    return `[build] module ${module} of 120: read, checked, written to dist/module-${module}.js, no warning`
  }).join('\n')}\n[build] done: 120 modules, 0 warnings, 0 errors\n`,
}
