/**
 * The web UI in a real browser, on a real server: a temporary home, the built files, HTTP on loopback.
 *
 * `openWeb` starts everything and returns pages. It collects errors thrown or logged by a page and violations of the
 * Content-Security-Policy, so that a test can assert that there were none. Without Chromium the tests are skipped.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { buildWeb } from '../../../scripts/build-web.ts'
import { CHROMIUM_ARGS, findChromium } from '../../../scripts/chromium.ts'
import { freePort } from '../../../scripts/free-port.ts'
import { type Listening, type ServerOptions, serve } from '../../../src/doors/server/server.ts'
import { openServerStore, type ServerStore } from '../../../src/doors/server/server-store.ts'
import { webMounts } from '../../../src/doors/server/web.ts'
import { Memory } from '../../../src/memory/memory.ts'
import { SqliteMemory } from '../../../src/memory/sqlite.ts'
import type { Message } from '../../../src/model/types.ts'
import { openPalimpsest, type Palimpsest } from '../../../src/session/engine.ts'

const CHROMIUM = findChromium()
/** The most milliseconds that a test waits for the page, long enough for a busy machine. */
const PATIENCE = 300_000

/** The reason to skip a test if there is no browser, for `test(name, { skip }, …)`. */
export const skip: string | false = CHROMIUM === undefined && 'no chromium: install it, or set CHROMIUM_PATH'

export type Web = {
  url: string
  pal: Palimpsest
  store: ServerStore
  memory: Memory
  /** A page at an address of the UI, for instance `#/sessions`. */
  page(hash?: string, options?: BrowserContextOptions): Promise<Page>
  /** Errors in any page so far. */
  problems: string[]
  /** Stops the server and starts it again on the same home and port. */
  restart(between?: () => Promise<void>): Promise<void>
  close(): Promise<void>
}

export async function openWeb(options: Partial<ServerOptions> = {}): Promise<Web> {
  if (CHROMIUM === undefined) throw new Error('There is no chromium: the test should have skipped.')
  await buildWeb()
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-web-'))
  const problems: string[] = []
  let started = await start(home, { port: await freePort(), ...options })
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: [...CHROMIUM_ARGS], timeout: PATIENCE })
  const web: Web = {
    ...started,
    problems,
    page: (hash, context) => openPage(browser, `${started.listening.url}/${hash ?? ''}`, { context, problems }),
    async restart(between) {
      const { port } = started.listening
      await started.listening.close()
      await between?.()
      started = await start(home, { ...options, port })
      Object.assign(web, { pal: started.pal, store: started.store, memory: started.memory })
    },
    async close() {
      await browser.close()
      await started.listening.close()
      rmSync(home, { recursive: true, force: true })
    },
  }
  return web
}

type Started = { url: string; listening: Listening; pal: Palimpsest; store: ServerStore; memory: Memory }

async function start(home: string, options: Partial<ServerOptions> & { port?: number }): Promise<Started> {
  const pal = await openPalimpsest({ home })
  const store = await openServerStore(home)
  const memory = new Memory(new SqliteMemory(join(home, 'memory.sqlite')))
  const workspace = join(home, 'workspace')
  const listening = await serve({
    port: 0,
    pal,
    store,
    memory,
    workspace,
    rate: false,
    log: () => {},
    mount: webMounts(),
    ...options,
  })
  return { url: listening.url, listening, pal, store, memory }
}

type PageOptions = { context: BrowserContextOptions | undefined; problems: string[] }

async function openPage(browser: Browser, url: string, { context, problems }: PageOptions): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce', ...context })
  page.setDefaultTimeout(PATIENCE)
  page.on('pageerror', error => problems.push(`thrown: ${error.message}`))
  page.on('dialog', dialog => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', message => {
    // A failed request is shown on the page; the browser logs each by itself.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      problems.push(`console: ${message.text()}`)
    }
  })
  await page.goto(url)
  return page
}

/** A conversation of any length: requests, calls and results in turn, each with a different text. */
export function longConversation(entries: number): Message[] {
  return Array.from({ length: entries }, (_, i): Message => {
    const at = Date.UTC(2026, 4, 1) + i * 15_000
    const n = Math.floor(i / 4)
    if (i % 4 === 0) return { role: 'user', at, parts: [{ type: 'text', text: `Request ${n}: look at module ${n}.` }] }
    if (i % 4 === 1) {
      const call = { type: 'tool-call' as const, id: `c${n}`, name: 'read_file', input: { path: `src/module-${n}.ts` } }
      return { role: 'assistant', at, parts: [{ type: 'text', text: `I read module ${n}.` }, call] }
    }
    if (i % 4 === 2) {
      const output = Array.from({ length: 8 + (n % 30) }, (_, line) => `export const value${line} = ${n * line}`).join(
        '\n',
      )
      return { role: 'tool', at, parts: [{ type: 'tool-result', id: `c${n}`, name: 'read_file', output }] }
    }
    return { role: 'assistant', at, parts: [{ type: 'text', text: `Module ${n} exports **values** of \`${n}\`.` }] }
  })
}
