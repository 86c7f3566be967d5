/**
 * A session as one page to share: the original conversation, what the model was shown instead, and why. One string of
 * HTML in the look of the web UI that loads nothing and runs no script.
 *
 * Every text is data: escaped, with likely secrets redacted. `hidesNames` removes the title, the session's name, the
 * project and its folder, and the names of users in paths; all other text stays.
 */
import { covered, withTexts } from '../ledger/redaction.ts'
import { imagesIn, textOf } from '../model/leaves.ts'
import { amount, asDollars, headOf, minuteOf, onOneLine, withCommas } from '../model/text.ts'
import type { ImagePart, Message, Part } from '../model/types.ts'
import { secretsIn } from '../recall/secrets.ts'
import type { SessionInfo } from '../session/engine.ts'
import type { Look } from '../session/look.ts'
import { type ExplainedSlot, explainView } from '../view/explain.ts'
import type { Summary } from '../view/totals.ts'
import { escapeXml } from './plot.ts'
import { REPORT_STYLE } from './report-style.ts'

type ShareOptions = {
  info: Pick<SessionInfo, 'id' | 'model' | 'about' | 'owner'>
  summary: Summary
  hidesNames?: boolean
}

/** `secrets`: how many secrets were redacted. */
export type Shared = { html: string; secrets: number }

const SHORT_CHARS = 1200
const FIRST_LINE_CHARS = 140

export async function sharePage(session: Look, options: ShareOptions): Promise<Shared> {
  await session.view({ plan: false })
  const events = await session.events()
  const happened = events.flatMap(({ event, at }) => (event.type === 'entry' ? [{ at, message: event.message }] : []))
  const writer = new Writer(options, happened)
  const slots = explainView(session.fold)
  // The conversation is rendered before the header, which says how many secrets were redacted in it.
  const talk = slots.map(slot => writer.slot(slot)).join('\n')
  const head = writer.head(happened)
  return {
    secrets: writer.secrets,
    html: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="referrer" content="no-referrer">
<title>${writer.title} · Palimpsest</title><style>${REPORT_STYLE}${STYLE}</style></head><body><main>
${head}
<section><h2>Conversation</h2><ol class="talk">
${talk}
</ol></section>
</main></body></html>
`,
  }
}

type Happened = { at: number; message: Message }

class Writer {
  readonly #options: ShareOptions
  readonly #happened: readonly Happened[]
  readonly #names: readonly string[]
  secrets = 0

  constructor(options: ShareOptions, happened: readonly Happened[]) {
    this.#options = options
    this.#happened = happened
    this.#names = options.hidesNames ? namesIn(options, happened) : []
  }

  get title(): string {
    const { info, summary, hidesNames } = this.#options
    return hidesNames ? 'A session' : this.#text(info.about.title || summary.title || info.id)
  }

  head(happened: readonly Happened[]): string {
    const { info, summary, hidesNames } = this.#options
    const { calls, money, tokens, edits } = summary
    const times = happened.map(({ at }) => at)
    const about = [
      ...(times.length > 0 ? [[...new Set([times[0]!, times.at(-1)!].map(minuteOf))].join(' to ')] : []),
      ...[info.about.client ?? '', info.model, hidesNames ? '' : (info.about.project ?? '')],
    ]
    const notes = [
      'A read-only copy; it loads nothing and runs no scripts.',
      ...(this.secrets > 0
        ? [
            `${amount(this.secrets, 'place')} that looked like a secret ${this.secrets === 1 ? 'was' : 'were'} redacted.`,
          ]
        : []),
      ...(hidesNames ? ['Names of the project and of users are hidden.'] : []),
    ]
    const facts: [string, string][] = [
      [money.estimated === calls ? 'Estimated' : 'Billed', asDollars(money.with)],
      ['Saved by edits', asDollars(Math.max(0, money.saved))],
      ['Edits', withCommas(edits)],
    ]
    const say = `${amount(happened.length, 'message')}, ${amount(calls, 'model call')}. The model now sees ${withCommas(tokens.shown)} of ${withCommas(tokens.raw)} tokens.`
    return `<header><h1>${this.title}</h1>
<p class="dim">${[...new Set(about)]
      .filter(Boolean)
      .map(one => this.#text(one))
      .join(' · ')}</p>
<p class="private">${notes.join(' ')}</p></header>
<section class="card verdict"><p class="say">${say}</p><dl>${facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')}</dl></section>`
  }

  slot({ from, to, messages, edits }: ExplainedSlot): string {
    const shows = edits.filter(edit => edit.shows)
    const originals = this.#happened.slice(from, to + 1)
    const name = from === to ? `#${from}` : `#${from}–${to}`
    if (shows.length === 0) return originals.map(({ at, message }) => this.#entry(message, { name, at })).join('\n')
    const why = shows.map(({ by, why: reason, saved }) => {
      const sum = saved > 0 ? `, ${amount(saved, 'token')} fewer` : ''
      return `<li>${this.#text(by)}: ${this.#text(reason)}${sum}</li>`
    })
    const shown = messages.map(({ message }) => this.#parts(message)).join('')
    const before = originals.map(({ message, at }, i) => this.#entry(message, { name: `#${from + i}`, at })).join('\n')
    return `<li class="entry edited"><h3>${messages[0] ? this.#text(messages[0].message.role) : 'left out'} <span class="dim">${name}</span> <span class="badge">edited</span></h3>
<ul class="why">${why.join('')}</ul>${shown || '<p class="dim">The model sees nothing of it.</p>'}
<details><summary>Original</summary><ol class="talk">${before}</ol></details></li>`
  }

  #entry(message: Message, { name, at }: { name: string; at: number }): string {
    return `<li class="entry role-${message.role}"><h3>${message.role} <span class="dim">${name} · ${minuteOf(at)}</span></h3>${this.#parts(message)}</li>`
  }

  #parts(message: Message): string {
    const { parts } = withTexts({ parts: message.parts }, text => this.#clean(text))
    return parts.map(part => this.#part(part, message.role === 'system')).join('')
  }

  #part(part: Part, isCollapsed: boolean): string {
    const pictures = imagesIn(part).map(pictureOf).join('')
    if (part.type === 'image') return pictures
    if (part.type === 'raw') return '<p class="dim">A block of the provider.</p>'
    if (part.type === 'tool-call') return collapsible(`→ ${this.#hide(part.name)}`, jsonOf(part.input))
    if (part.type === 'tool-result')
      return collapsible(`${part.isError ? '✗' : '←'} ${this.#hide(part.name)}`, textOf(part)) + pictures
    if (part.type === 'reasoning') return collapsible('reasoning', part.text)
    return isCollapsed || part.text.length > SHORT_CHARS
      ? collapsible('', part.text)
      : `<pre>${escapeXml(part.text)}</pre>`
  }

  /** Prepares any text of the session for the page. */
  #text(text: string): string {
    return escapeXml(this.#clean(text))
  }

  #clean(text: string): string {
    const places = secretsIn(text)
    this.secrets += places.length
    return this.#hide(covered(text, places))
  }

  #hide(text: string): string {
    return this.#names.reduce(withoutName, text)
  }
}

function jsonOf(input: unknown): string {
  const short = JSON.stringify(input) ?? ''
  return short.length <= FIRST_LINE_CHARS ? short : JSON.stringify(input, null, 2)
}

/** A label and the first line; opening it shows the whole text. */
function collapsible(label: string, text: string): string {
  const line = onOneLine(headOf(text, FIRST_LINE_CHARS * 2)).trim()
  const head = label === '' ? '' : `<b>${escapeXml(label)}</b> `
  if (line === text && line.length <= FIRST_LINE_CHARS)
    return `<p class="line">${head}<code>${escapeXml(line)}</code></p>`
  const cut = line.length > FIRST_LINE_CHARS ? `${headOf(line, FIRST_LINE_CHARS)} …` : line
  return `<details><summary>${head}<code>${escapeXml(cut)}</code></summary><pre>${escapeXml(text)}</pre></details>`
}

const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** Only images inside the session itself: a shared page requests nothing from a server. */
function pictureOf({ mediaType, data }: ImagePart): string {
  if (!data || !PICTURES.has(mediaType) || !/^[A-Za-z0-9+/=]+$/.test(data)) return '<p class="dim">An image.</p>'
  return `<img alt="An image of the conversation" src="data:${mediaType};base64,${data}">`
}

const SHORTEST_NAME = 3
const HOME_OF = /(?:\/home\/|\/Users\/|[A-Za-z]:\\{1,2}Users\\{1,2})([^/\\\s"'<>:]{1,64})/g

/** The names to hide, longest first. */
function namesIn({ info: { id, owner, about } }: ShareOptions, happened: readonly Happened[]): string[] {
  const users = new Set<string>()
  const look = (text: string) => {
    for (const [, user] of text.matchAll(HOME_OF)) if (user) users.add(user)
    return text
  }
  for (const { message } of happened) withTexts(message, look)
  const folder = look(about.project ?? '')
  const names = [folder, folder.split(/[/\\]/).findLast(Boolean), about.title, id, owner, ...users]
  const long = names.filter(name => name !== undefined && name.length >= SHORTEST_NAME) as string[]
  return [...new Set(long)].sort((a, b) => b.length - a.length)
}

/** Hides a name in any letter case; a name inside a longer word stays. */
function withoutName(text: string, name: string): string {
  const lower = text.toLowerCase()
  // A few letters have another length in lower case, which shifts positions. Then only the exact spelling is found.
  const [all, wanted] = lower.length === text.length ? [lower, name.toLowerCase()] : [text, name]
  const kept: string[] = []
  let done = 0
  for (let at = all.indexOf(wanted); at >= 0; at = all.indexOf(wanted, at + wanted.length)) {
    const end = at + wanted.length
    if (WORD.test(text[at - 1] ?? '') || WORD.test(text[end] ?? '')) continue
    kept.push(text.slice(done, at), '[hidden]')
    done = end
  }
  return kept.join('') + text.slice(done)
}

const WORD = /[\p{L}\p{N}_]/u

const STYLE = `
.talk { margin-top: 14px; display: grid; gap: 10px; }
.entry { border: 1px solid var(--line); border-left: 3px solid var(--kind-other); border-radius: 8px; background: var(--sheet); padding: 10px 14px; min-width: 0; }
.role-user { border-left-color: var(--kind-user); }
.role-assistant { border-left-color: var(--kind-assistant); }
.role-system { border-left-color: var(--kind-system); }
.edited { border-left-color: var(--accent); }
.entry h3 { margin-bottom: 4px; }
.entry pre { margin: 4px 0; font: 13px/1.5 ui-monospace, "SFMono-Regular", Menlo, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.entry code { font: 12.5px ui-monospace, "SFMono-Regular", Menlo, monospace; overflow-wrap: anywhere; }
.entry summary { cursor: pointer; }
.entry img { max-width: 100%; max-height: 480px; }
.why { margin: 2px 0 6px; color: var(--ink-2); font-size: 12.5px; }
`
