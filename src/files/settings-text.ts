/**
 * Changes single values in the text of another program's settings: JSON (with comments and trailing commas), TOML and
 * `.env`. Everything else in the text stays as it is, byte for byte.
 *
 * Guarantee: text that does not parse in its format is refused, never guessed at. In TOML only keys above the first
 * table can be changed; the agents need no more.
 */
import { PalimpsestError } from '../model/errors.ts'
import { tryJson } from '../model/json.ts'
import { BOM, lineEndings } from './text.ts'

export type SettingsForm = 'json' | 'toml' | 'env'

/** The path of a value: the names that lead to it. */
export type SettingPath = readonly string[]

type Span = { from: number; to: number }
/** A member of an object or a line of a file: all of it, and its value. */
type Member = Span & { name: string; value: Span }

/** The text of a value as it is written, with its quotes; undefined if there is none. */
export function rawSetting(form: SettingsForm, text: string, at: SettingPath): string | undefined {
  const found = find(form, text, at)
  return found && text.slice(found.value.from, found.value.to)
}

/** The value as a string; undefined if there is none, or if it is not a string. */
export function readSetting(form: SettingsForm, text: string, at: SettingPath): string | undefined {
  const raw = rawSetting(form, text, at)
  if (raw === undefined) return undefined
  if (form === 'json' || raw.startsWith('"')) return stringIn(raw)
  return raw.startsWith("'") ? raw.slice(1, -1) : raw
}

function stringIn(raw: string): string | undefined {
  const value = tryJson(raw)
  return typeof value === 'string' ? value : undefined
}

export function writeSetting(form: SettingsForm, text: string, at: SettingPath, value: string): string {
  return writeRawSetting(form, text, at, form === 'env' ? value : JSON.stringify(value))
}

/** Like `writeSetting`, for a value that is already encoded, such as one from `rawSetting`. */
export function writeRawSetting(form: SettingsForm, text: string, at: SettingPath, raw: string): string {
  const found = find(form, text, at)
  if (found) return text.slice(0, found.value.from) + raw + text.slice(found.value.to)
  if (form === 'json') return addMember(text, at, raw)
  const newline = lineEndings(text) === 'crlf' ? '\r\n' : '\n'
  const line = `${at.join('.')}${form === 'toml' ? ' = ' : '='}${raw}`
  if (form === 'env') return `${text}${text === '' || text.endsWith('\n') ? '' : newline}${line}${newline}`
  const start = text.startsWith(BOM) ? BOM.length : 0
  return `${text.slice(0, start)}${line}${newline}${text.slice(start)}`
}

/** How many of the objects around a value exist. */
export function depthOfSetting(form: SettingsForm, text: string, at: SettingPath): number {
  let depth = at.length - 1
  while (depth > 0 && !find(form, text, at.slice(0, depth))) depth--
  return depth
}

/** Removes the value, and the objects around it that become empty, except the first `depth`, which existed before. */
export function removeSetting(form: SettingsForm, text: string, at: SettingPath, depth = 0): string {
  const found = find(form, text, at)
  if (!found) return text
  if (form !== 'json') return text.slice(0, found.from) + text.slice(found.to)
  const around = at.slice(0, -1)
  const object = around.length === 0 ? undefined : new JsonText(text).member(around)
  if (object && around.length > depth && membersIn(text, object.value).length === 1) {
    return removeSetting(form, text, around, depth)
  }
  return withoutMember(text, membersIn(text, object?.value ?? rootOf(text)!), found)
}

function withoutMember(text: string, siblings: readonly Member[], found: Member): string {
  const index = siblings.findIndex(({ from }) => from === found.from)
  const before = siblings[index - 1]
  const next = siblings[index + 1]
  if (before) return text.slice(0, before.to) + text.slice(found.to)
  return next ? text.slice(0, found.from) + text.slice(next.from) : text.slice(0, found.from) + text.slice(found.to)
}

function find(form: SettingsForm, text: string, at: SettingPath): Member | undefined {
  if (form === 'json') return text.trim() === '' ? undefined : new JsonText(text).member(at)
  if (form === 'toml') return tomlLines(text).findLast(({ name }) => name === at.join('.'))
  return envLines(text).findLast(({ name }) => name === at[0])
}

function rootOf(text: string): Span | undefined {
  return text.trim() === '' ? undefined : new JsonText(text).root()
}

function membersIn(text: string, object: Span): Member[] {
  return new JsonText(text).members(object.from)
}

function addMember(text: string, at: SettingPath, raw: string): string {
  const newline = lineEndings(text) === 'crlf' ? '\r\n' : '\n'
  const root = rootOf(text)
  if (!root) return `${text}${nested(at, raw, { newline, unit: '  ', depth: 0 })}${newline}`
  const json = new JsonText(text)
  const depth = depthOfSetting('json', text, at)
  const object = depth === 0 ? root : json.member(at.slice(0, depth))!.value
  if (text[object.from] !== '{') {
    throw refused(`${at.slice(0, depth).join('.') || 'the file'} is not an object`)
  }
  const members = json.members(object.from)
  const unit = unitOf(text, json.members(root.from)[0])
  const inner = `${JSON.stringify(at[depth])}: ${nested(at.slice(depth + 1), raw, { newline, unit, depth: depth + 1 })}`
  const last = members.at(-1)
  if (!last) {
    const open = `${newline}${unit.repeat(depth + 1)}${inner}`
    const isBare = /^\s*$/.test(text.slice(object.from + 1, object.to - 1))
    const end = isBare ? object.to - 1 : object.from + 1
    return `${text.slice(0, object.from + 1)}${open}${isBare ? `${newline}${unit.repeat(depth)}` : ''}${text.slice(end)}`
  }
  const isOneLine = !text.slice(object.from, last.to).includes('\n')
  const gap = isOneLine ? ' ' : `${newline}${unit.repeat(depth + 1)}`
  return `${text.slice(0, last.to)},${gap}${inner}${text.slice(last.to)}`
}

function nested(at: SettingPath, raw: string, layout: { newline: string; unit: string; depth: number }): string {
  const [name, ...rest] = at
  if (name === undefined) return raw
  const { newline, unit, depth } = layout
  const inner = nested(rest, raw, { ...layout, depth: depth + 1 })
  return `{${newline}${unit.repeat(depth + 1)}${JSON.stringify(name)}: ${inner}${newline}${unit.repeat(depth)}}`
}

/** The file's indentation: the white space before its first member. */
function unitOf(text: string, first: Member | undefined): string {
  const space = first && /\n([ \t]+)$/.exec(text.slice(0, first.from))
  return space ? space[1]! : '  '
}

const SPACE = /(?:[\s\uFEFF]|\/\/[^\n]*|\/\*(?:[^*]|\*(?!\/))*\*\/)*/y
const STRING = /"(?:[^"\\\n]|\\.)*"/y
const PLAIN = /[-+.\w]+/y

/** A reader of JSON with comments that gives positions. */
class JsonText {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  root(): Span {
    const from = this.#space(0)
    const to = this.#value(from)
    if (this.#space(to) !== this.#text.length) throw refused('there is text after its end')
    if (this.#text[from] !== '{') throw refused('it is not an object')
    return { from, to }
  }

  /** If several members have one name, the last one, as in JSON.parse. */
  member(at: SettingPath): Member | undefined {
    let object: Span = this.root()
    let found: Member | undefined
    for (const name of at) {
      if (this.#text[object.from] !== '{') return undefined
      found = this.members(object.from).findLast(member => member.name === name)
      if (!found) return undefined
      object = found.value
    }
    return found
  }

  /** The members of the object that begins here. */
  members(open: number): Member[] {
    const members: Member[] = []
    this.#object(open, member => members.push(member))
    return members
  }

  #object(open: number, visit: (member: Member) => void): number {
    let at = this.#space(open + 1)
    while (this.#text[at] !== '}') {
      const end = this.#match(STRING, at, 'a name in quotes')
      const colon = this.#space(end)
      if (this.#text[colon] !== ':') throw this.#broken(colon, 'a colon')
      const from = this.#space(colon + 1)
      const to = this.#value(from)
      const name = stringIn(this.#text.slice(at, end))
      if (name === undefined) throw this.#broken(at, 'a name')
      visit({ name, from: at, to, value: { from, to } })
      at = this.#behindComma(to, '}')
    }
    return at + 1
  }

  #behindComma(end: number, close: string): number {
    const at = this.#space(end)
    if (this.#text[at] === ',') return this.#space(at + 1)
    if (this.#text[at] === close) return at
    throw this.#broken(at, `a comma or ${close}`)
  }

  #value(from: number): number {
    const first = this.#text[from]
    if (first === '{') return this.#object(from, () => {})
    if (first === '"') return this.#match(STRING, from, 'the end of a string')
    if (first !== '[') return this.#match(PLAIN, from, 'a value')
    let at = this.#space(from + 1)
    while (this.#text[at] !== ']') at = this.#behindComma(this.#value(at), ']')
    return at + 1
  }

  #space(from: number): number {
    SPACE.lastIndex = from
    SPACE.test(this.#text)
    return SPACE.lastIndex
  }

  #match(pattern: RegExp, from: number, what: string): number {
    pattern.lastIndex = from
    if (!pattern.test(this.#text)) throw this.#broken(from, what)
    return pattern.lastIndex
  }

  #broken(at: number, what: string): PalimpsestError {
    return refused(`line ${this.#text.slice(0, at).split('\n').length} should have ${what}`)
  }
}

function refused(why: string): PalimpsestError {
  return new PalimpsestError('CONFIG_INVALID', `The settings cannot be read: ${why}. Repair the file first.`, { why })
}

const TOML_KEY = /[ \t]*(?:([-\w]+)|"([^"\\\n]*)"|'([^'\n]*)')((?:[ \t]*\.[ \t]*[-\w"']+)*)[ \t]*=[ \t]*/y
const TOML_STRING = /"""(?:[^"\\]|\\[\s\S]|"(?!""))*"{3,5}|'''(?:[^']|'(?!''))*'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y

/** The keys above the first table, with their lines. */
function tomlLines(text: string): Member[] {
  const found: Member[] = []
  let at = text.startsWith(BOM) ? BOM.length : 0
  while (at < text.length) {
    TOML_KEY.lastIndex = at
    const key = TOML_KEY.exec(text)
    if (!key) {
      const line = text.slice(at, endOfLine(text, at))
      if (/^[ \t]*\[/.test(line)) return found
      if (!/^[ \t\r]*(?:#|\n?$)/.test(line)) throw refused(`${JSON.stringify(line.trim())} is not valid TOML`)
      at += line.length
      continue
    }
    const to = endOfToml(text, TOML_KEY.lastIndex)
    const name = (key[1] ?? key[2] ?? key[3])! + key[4]!.replaceAll(/[\s"']/g, '')
    found.push({ name, from: at, to: endOfLine(text, to), value: { from: TOML_KEY.lastIndex, to } })
    at = endOfLine(text, to)
  }
  return found
}

/** The end of a TOML value, which may span several lines. */
function endOfToml(text: string, from: number): number {
  let depth = 0
  let at = from
  let end = from
  while (at < text.length) {
    const char = text[at]!
    if (char === '\n' && depth === 0) break
    depth += TOML_DEPTHS[char] ?? 0
    at = behindToml(text, at)
    if (!/[\s#]/.test(char)) end = at
  }
  return end
}

const TOML_DEPTHS: Record<string, number> = { '[': 1, '{': 1, ']': -1, '}': -1 }

/** The position after a character, a string, or a comment up to its line's end. */
function behindToml(text: string, at: number): number {
  const char = text[at]
  if (char === '#') return endOfLine(text, at) - (text.includes('\n', at) ? 1 : 0)
  if (char !== '"' && char !== "'") return at + 1
  TOML_STRING.lastIndex = at
  if (!TOML_STRING.test(text)) throw refused('a string is not closed')
  return TOML_STRING.lastIndex
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end === -1 ? text.length : end + 1
}

function envLines(text: string): Member[] {
  const found: Member[] = []
  for (let from = 0; from < text.length; ) {
    const to = endOfLine(text, from)
    const line = text.slice(from, to).trimEnd()
    const name = /^\uFEFF?[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=/.exec(line)
    if (name) {
      const value = line.slice(name[0].length).trimStart()
      const end = from + line.length
      found.push({ name: name[1]!, from, to, value: { from: end - value.length, to: end } })
    }
    from = to
  }
  return found
}
