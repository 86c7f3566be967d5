/**
 * The pictures of the web UI in README and docs: `npm run screenshots` takes them again into docs/img. To look at
 * everything, `npm run screenshots -- --all FOLDER` takes every page whole: light, dark and as wide as a phone.
 *
 * A real server (`serve --sample --demo`) on a home of its own, a real browser, and nothing arranged: what a newcomer
 * sees after `npm start`. Fonts are those of the machine; the pictures in the repository were taken with Inter,
 * DejaVu Serif Condensed and DejaVu Sans Mono (Debian: fonts-inter fonts-dejavu), in place of each system's own fonts.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { buildWeb } from './build-web.ts'
import { CHROMIUM_ARGS, findChromium } from './chromium.ts'
import { smallerPng } from './png.ts'

const ROOT = join(import.meta.dirname, '..')
const PLACE = join(ROOT, 'docs/img')
const WIDTH = 1360
const SCALE = 1.5
const LARGEST_BYTES = 250_000
/** The height at which a longer page is cut. */
const TALLEST = 2600

type Shot = {
  name: string
  hash: string
  height: number
  width?: number
  colorScheme?: BrowserContextOptions['colorScheme']
  /** Includes the part of the page below the screen. */
  whole?: boolean
  /** Brings the page to where the picture is taken. */
  prepare(page: Page): Promise<void>
}

const SHOTS: readonly Shot[] = [
  {
    name: 'ui-sessions',
    hash: '#/sessions',
    height: 540,
    prepare: listed,
  },
  { name: 'ui-session', hash: '#/sessions/sample?at=42&entry=15', height: 900, prepare: session },
  {
    name: 'ui-session-dark',
    hash: '#/sessions/sample?at=40&entry=65',
    height: 900,
    colorScheme: 'dark',
    prepare: edits,
  },
  {
    name: 'ui-memory',
    hash: '#/memory',
    height: 680,
    prepare: page => page.getByRole('button', { name: 'Approve', exact: true }).waitFor(),
  },
  { name: 'ui-compare', hash: '#/sessions/sample/compare', height: 1120, prepare: compared },
  { name: 'ui-session-phone', hash: '#/sessions/sample', height: 844, width: 390, prepare: verdict },
  { name: 'ui-settings', hash: '#/settings', height: 900, prepare: replayed },
  { name: 'ui-chat', hash: '#/chat', height: 900, prepare: chatted },
]

/** Every page, for `--all`; the chat last, because it makes a session. */
const PAGES: readonly Pick<Shot, 'name' | 'hash' | 'prepare'>[] = [
  { name: 'sessions', hash: '#/sessions', prepare: listed },
  { name: 'session', hash: '#/sessions/sample', prepare: verdict },
  { name: 'session-edits', hash: '#/sessions/sample?entry=65', prepare: edits },
  { name: 'session-context', hash: '#/sessions/sample', prepare: page => tab(page, 'Context', '.editor-part') },
  { name: 'session-files', hash: '#/sessions/sample', prepare: page => tab(page, 'Files', '.editor-stretches') },
  { name: 'session-why', hash: '#/sessions/sample', prepare: page => tab(page, 'Why', '.why-rows') },
  { name: 'compare', hash: '#/sessions/sample/compare', prepare: compared },
  { name: 'memory', hash: '#/memory', prepare: page => page.locator('h1, h2').first().waitFor() },
  { name: 'workspace', hash: '#/workspace', prepare: page => page.locator('h1, h2').first().waitFor() },
  { name: 'settings', hash: '#/settings', prepare: replayed },
  { name: 'api', hash: 'docs', prepare: page => page.locator('h1').first().waitFor() },
  { name: 'chat', hash: '#/chat', prepare: page => page.getByLabel('Message to the agent').waitFor() },
]

function everyPage(): Shot[] {
  return PAGES.flatMap(page => [
    { ...page, name: `${page.name}-light`, height: 900, whole: true },
    { ...page, name: `${page.name}-dark`, height: 900, colorScheme: 'dark' as const, whole: true },
    { ...page, name: `${page.name}-phone`, height: 844, width: 390, whole: true },
  ])
}

async function tab(page: Page, name: string, shows: string): Promise<void> {
  await page.getByTestId('context-map').waitFor()
  await page.getByRole('tab', { name }).click()
  await page.locator(shows).first().waitFor()
}

async function replayed(page: Page): Promise<void> {
  await page.getByText('This is the current setting.').waitFor()
}

async function listed(page: Page): Promise<void> {
  await page.locator('.session-cost').first().waitFor()
}

async function session(page: Page): Promise<void> {
  await page.getByTestId('context-map').waitFor()
  await page.locator('[data-entry="15"] .part').waitFor()
  await page.getByRole('img', { name: /^Tokens: / }).waitFor()
}

async function verdict(page: Page): Promise<void> {
  await page.getByRole('region', { name: 'Verdict' }).waitFor()
  await page.getByTestId('context-map').waitFor()
}

async function edits(page: Page): Promise<void> {
  await page.locator('[data-entry="65"] .part').waitFor()
  await page.getByRole('tab', { name: /Edits/ }).click()
}

async function compared(page: Page): Promise<void> {
  for (const name of ['smart-history', 'stale-output', 'agent'])
    await page.getByRole('checkbox', { name: new RegExp(`^${name}`) }).check()
  await page.getByText('Done. Nothing was recorded').waitFor()
}

/** One turn of the demo; it asks before each of its two commands. */
async function chatted(page: Page): Promise<void> {
  await page.getByLabel('Message to the agent').fill('The total of the cart is wrong. Please mend it.')
  await page.keyboard.press('Enter')
  for (let asked = 0; asked < 2; asked++) {
    await page.getByRole('alertdialog').getByText('Run this command?').waitFor()
    await page.keyboard.press('y')
    await page.locator('.chat-tool-done', { hasText: 'run_command' }).nth(asked).waitFor()
  }
  await page.getByText('With a real model behind it').waitFor()
  await page.getByRole('button', { name: 'Send' }).waitFor()
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
}

async function main(args: readonly string[]): Promise<void> {
  const place = args[0] === '--all' ? (args[1] ?? 'screenshots') : PLACE
  const shots =
    args[0] === '--all'
      ? everyPage().filter(({ name }) => isAsked(name, args.slice(2)))
      : SHOTS.filter(({ name }) => isAsked(name, args))
  const executablePath = findChromium()
  if (executablePath === undefined) throw new Error('There is no Chromium: install it, or set CHROMIUM_PATH.')
  await buildWeb()
  mkdirSync(place, { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-shots-'))
  const server = startServer(folder)
  const env = { ...process.env, FONTCONFIG_FILE: fontsIn(folder) }
  const browser = await chromium.launch({ executablePath, args: [...CHROMIUM_ARGS], env })
  try {
    const url = await addressOf(server)
    for (const shot of shots) await take(browser, url, place, shot)
  } finally {
    await browser.close()
    server.kill()
    await once(server, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Full names or their beginnings; all if none is given. */
function isAsked(name: string, only: readonly string[]): boolean {
  return only.length === 0 || only.some(one => name.startsWith(one))
}

async function take(
  browser: Browser,
  url: string,
  place: string,
  { name, hash, height, width = WIDTH, colorScheme, whole = false, prepare }: Shot,
): Promise<void> {
  const page = await browser.newPage({
    viewport: { width, height },
    deviceScaleFactor: SCALE,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
    ...(colorScheme ? { colorScheme } : {}),
  })
  await page.goto(`${url}/${hash}`)
  await prepare(page)
  await page.evaluate('document.activeElement?.blur()')
  await page.evaluate(
    'document.fonts.ready.then(() => new Promise(next => requestAnimationFrame(() => setTimeout(next, 300))))',
  )
  const tall = whole ? await page.evaluate<number>('document.documentElement.scrollHeight') : height
  const clip = { x: 0, y: 0, width, height: Math.min(tall, TALLEST) }
  const png = smallerPng(await page.screenshot({ fullPage: whole, clip }))
  writeFileSync(join(place, `${name}.png`), png)
  console.log(`${name}.png  ${Math.round(png.length / 1024)} KB`)
  if (!whole && png.length > LARGEST_BYTES) throw new Error(`${name}.png is larger than ${LARGEST_BYTES} bytes.`)
  await page.close()
}

/** A server on a free port, without the API keys of the user who runs this. */
function startServer(folder: string): ChildProcess {
  const home = join(folder, '.agent')
  const args = ['serve', '--sample', '--demo', '--port', '0', '--home', home]
  return spawn(process.execPath, [join(ROOT, 'src/cli.ts'), ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, PALIMPSEST_USER: 'local' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function addressOf(server: ChildProcess): Promise<string> {
  let out = ''
  for await (const chunk of server.stdout ?? []) {
    out += chunk
    const found = /Palimpsest is at (\S+)/.exec(out)
    if (found) return found[1]!
  }
  throw new Error(`The server did not start: ${out}`)
}

/** The page's `system-ui` font is Inter, if that is installed. */
function fontsIn(folder: string): string {
  const path = join(folder, 'fonts.conf')
  const prefer = (name: string, font: string) =>
    `<alias binding="strong"><family>${name}</family><prefer><family>${font}</family></prefer></alias>`
  const lines = [
    '<include>/etc/fonts/fonts.conf</include>',
    // The browser finds Type 1 fonts by name, but cannot draw them.
    '<selectfont><rejectfont><pattern><patelt name="fontformat"><string>Type 1</string></patelt></pattern></rejectfont></selectfont>',
    prefer('system-ui', 'Inter'),
    prefer('sans-serif', 'Inter'),
  ]
  writeFileSync(
    path,
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>${lines.join('')}</fontconfig>`,
  )
  return path
}

await main(process.argv.slice(2))
