/**
 * Pictures and figures of the docs, made from what the program prints for the sample session: docs/example.md with
 * docs/img/example-edit.svg, and docs/img/terminal.svg, a recording of `npx palimpsest`. `npm run pictures` writes
 * them; a test compares them with the program's current output.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadCounter, partTokens } from '../src/model/tokens.ts'
import { openPalimpsest } from '../src/session/engine.ts'
import { openSample } from '../src/session/sample.ts'
import { type EditRecord, type Fold, foldAll, tokensOf } from '../src/view/fold.ts'

const ROOT = join(import.meta.dirname, '..')
const MILLION = 1_000_000

/** Every file that this script writes, by its path. */
export async function pictures(): Promise<Record<string, string>> {
  const example = await workedExample()
  return {
    'docs/example.md': pageOf(example),
    'docs/img/example-edit.svg': pictureOf(example),
    'docs/img/terminal.svg': recordingOf('npx palimpsest', outputOfFirstStart()),
  }
}

type Example = Awaited<ReturnType<typeof workedExample>>

/** The agent's own edit in the sample: it read a log file and replaced it with a summary. */
async function workedExample() {
  await using pal = await openPalimpsest({ home: ':memory:', config: false })
  await openSample(pal)
  const session = await pal.session('sample')
  const { edit, seq } = session
    .edits()
    .find(({ edit: { by, target } }) => by === 'agent' && target.type === 'part') as EditRecord
  if (edit.target.type !== 'part' || typeof edit.replacement !== 'string')
    throw new Error('The sample has another edit.')
  const { entry, part } = edit.target
  const events = await session.events()
  const fold: Fold = foldAll(
    events.filter(one => one.seq < seq),
    await loadCounter(),
  )
  const { model } = session.options
  const last = fold.entries.length - 1
  const original = fold.entries[entry]!.message!.parts[part]!
  const before = partTokens(original, fold.count)
  const front = tokensOf(fold, 0, entry) - before
  const behind = tokensOf(fold, entry + 1, last)
  const after = before - edit.saved
  const calls = events.filter(one => one.seq > seq && one.event.type === 'usage').length
  const dollars = (tokens: number, factor: number) => (tokens * model.scale * model.input * factor) / MILLION
  const once = dollars(behind + after, model.write - model.read)
  const each = dollars(edit.saved, model.read)
  return {
    id: edit.id,
    entry,
    before,
    after,
    saved: edit.saved,
    front,
    behind,
    calls,
    once,
    each,
    model,
    text: edit.replacement,
  }
}

const number = (value: number) => value.toLocaleString('en-US')
const money = (value: number) => `$${value.toFixed(5)}`

function pageOf({ id, entry, before, after, saved, behind, calls, once, each, model, text }: Example): string {
  const { scale, input, write, read } = model
  return `# One edit and what it saved

<!-- Written by scripts/pictures.ts (npm run pictures). Edit that file, not this page. -->

This is edit \`${id}\` of the sample session; \`npx palimpsest serve --sample\` shows it. The agent read a log file of
${number(before)} tokens. It needed only a few facts from the file, so it replaced the file's text with this note:

> ${text.replaceAll('\n', '\n> ')}

![The window before and after the edit](img/example-edit.svg)

## What it costs and saves

The prices are those of ${model.id}: $${input} for a million input tokens. A cache write costs ${write} times that, a cache
read ${read} times. The provider counts ${scale} tokens for each token that we count.

| | | |
|---|---|--:|
| the edit frees | ${number(before)} − ${number(after)} | ${number(saved)} tokens |
| it invalidates the cache from entry ${entry} on, so the next call writes again | ${number(after)} + ${number(behind)} | ${number(after + behind)} tokens |
| cost of that, paid once | ${number(after + behind)} × ${scale} × (${write} − ${read}) × ${input} / 1,000,000 | ${money(once)} |
| each later call saves | ${number(saved)} × ${scale} × ${read} × ${input} / 1,000,000 | ${money(each)} |
| the edit pays for itself after | ${money(once)} / ${money(each)} | ${Math.ceil(once / each)} calls |
| calls that followed in the session | | ${calls} calls |
| **saved in total** | ${calls} × ${money(each)} − ${money(once)} | **${money(calls * each - once)}** |

This assumes a warm cache. After a pause longer than the cache lifetime, the provider writes the whole prompt again
anyway: the edit then costs nothing and saves ${write} / ${read} times as much in that call.

## Undoing it

\`\`\`sh
palimpsest show sample --original --full   # the ledger still has the whole file
palimpsest undo sample ${id}                  # the next call shows it to the model again
palimpsest redo sample ${id}
\`\`\`

The [planner](planner.md) does the same calculation for each of its edits, with one more term: the expected cost of
losing text that the agent will quote again. It records the calculation in the ledger; \`palimpsest edits sample\` shows it.
`
}

const WIDTH = 900
const FONT = 'font-family="ui-sans-serif, system-ui, sans-serif" font-size="14"'

/** Two bars, one above the other, to one scale. */
function pictureOf({ front, before, after, behind, saved, entry }: Example): string {
  const unit = (WIDTH - 40) / (front + before + behind)
  const bar = (y: number, title: string, middle: number, colour: string) => {
    const sizes: [tokens: number, fill: string, label: string][] = [
      [front, '#94a3b8', `${number(front)} before it, cached`],
      [middle, colour, middle === after ? '' : `entry ${entry}: ${number(middle)}`],
      [behind, '#60a5fa', behind * unit > 160 ? `${number(behind)} after it` : ''],
    ]
    let x = 20
    const blocks = sizes.map(([tokens, fill, label]) => {
      const width = Math.max(3, tokens * unit)
      const text = label && width > 90 ? `<text x="${round(x + 8)}" y="${y + 42}" fill="#0f172a">${label}</text>` : ''
      const block = `<rect x="${round(x)}" y="${y + 18}" width="${round(width)}" height="38" fill="${fill}"/>${text}`
      x += width
      return block
    })
    return `<text x="20" y="${y + 10}" fill="#334155">${title}</text>${blocks.join('')}`
  }
  const total = front + before + behind
  const rows = [
    bar(20, `before: ${number(total)} tokens`, before, '#f59e0b'),
    bar(
      110,
      `after: ${number(total - saved)} tokens; the next call writes the cache again from the green block on`,
      after,
      '#4ade80',
    ),
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} 190" ${FONT} role="img" aria-label="The window before and after the edit"><rect width="${WIDTH}" height="190" fill="#ffffff"/>${rows.join('')}</svg>\n`
}

const round = (value: number) => Math.round(value * 10) / 10

/** The output of the first start on a machine without agents, so that it shows the sample. */
function outputOfFirstStart(): string {
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-recording-'))
  try {
    const env = { PATH: '/nowhere', HOME: home, USERPROFILE: home, TERM: 'xterm', NO_COLOR: '1' }
    const args = [join(ROOT, 'src/cli.ts'), '--home', join(home, 'home')]
    return execFileSync(process.execPath, args, {
      cwd: home,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const LINE = 20
const CHAR = 8.43
const SECONDS_TO_TYPE = 1.5
const SECONDS_A_LINE = 0.25

/** A terminal in which the command is typed and then the lines of its output appear. The last frame stays. */
function recordingOf(command: string, output: string): string {
  const lines = output.trimEnd().split('\n')
  const columns = Math.max(72, ...lines.map(line => line.length))
  const [width, height] = [Math.ceil(columns * CHAR) + 40, (lines.length + 2) * LINE + 60]
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const appear = (seconds: number) => `<set attributeName="opacity" to="0" begin="0s" dur="${seconds}s"/>`
  const typed = [...command].map((letter, i) => {
    const at = round((i / command.length) * SECONDS_TO_TYPE)
    return `<tspan>${escaped(letter)}<set attributeName="fill-opacity" to="0" begin="0s" dur="${at + 0.1}s"/></tspan>`
  })
  const rows = lines.map((line, i) => {
    const at = round(SECONDS_TO_TYPE + 0.5 + i * SECONDS_A_LINE)
    const fill = /^It cost/.test(line) ? '#86efac' : '#e2e8f0'
    return `<text x="20" y="${60 + (i + 2) * LINE}" fill="${fill}" xml:space="preserve">${escaped(line)}${appear(at)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, monospace" font-size="14" role="img" aria-label="${escaped(command)} in a terminal"><rect width="${width}" height="${height}" rx="8" fill="#0f172a"/><circle cx="22" cy="20" r="6" fill="#f87171"/><circle cx="42" cy="20" r="6" fill="#fbbf24"/><circle cx="62" cy="20" r="6" fill="#4ade80"/><text x="20" y="60" fill="#93c5fd" xml:space="preserve">$ ${typed.join('')}</text>
${rows.join('\n')}
</svg>
`
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(await pictures())) writeFileSync(join(ROOT, path), text)
}
