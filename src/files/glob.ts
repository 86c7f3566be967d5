/**
 * Globs, matched in time linear in path and glob. Node's own matcher backtracks: `+(a|aa)b` takes it exponential time.
 * Here a glob is a small automaton, and all its states advance together. It supports `*` and `?` within a name, `**` for
 * folders, `[a-z]`, `[!a]`, `{a,b}` and `\` before a literal character; everything else is text. As in a shell, a dot at
 * the beginning of a name matches only a written dot. Pure.
 */

type State = { takes?: (char: string, atStart: boolean) => boolean; next: number[] }

type Glob = (path: string) => boolean

/** Reads a glob once, for many paths. */
export function readGlob(glob: string): Glob {
  const states: State[] = [{ next: [] }]
  const start = new GlobReader([...glob], states).alternatives(0, ACCEPTED)
  return path => {
    let current = reach(states, [start])
    let before = '/'
    for (const char of path) {
      const taken: number[] = []
      for (const at of current) if (states[at]!.takes?.(char, before === '/')) taken.push(...states[at]!.next)
      current = reach(states, taken)
      before = char
    }
    return current.has(ACCEPTED)
  }
}

const ACCEPTED = 0

/** The states that can be reached from the given ones without consuming a character. */
function reach(states: readonly State[], from: readonly number[]): Set<number> {
  const found = new Set(from)
  for (const at of found) if (!states[at]!.takes) for (const next of states[at]!.next) found.add(next)
  return found
}

class GlobReader {
  readonly #glob: readonly string[]
  readonly #states: State[]
  #at = 0

  constructor(glob: readonly string[], states: State[]) {
    this.#glob = glob
    this.#states = states
  }

  /** Parses alternatives up to the closing brace, or the whole glob at depth 0; each leads to `end`. */
  alternatives(depth: number, end: number): number {
    const start = this.#add({ next: [] })
    for (;;) {
      let last = this.#add({ next: [] })
      this.#states[start]!.next.push(last)
      while (this.#at < this.#glob.length && !(depth > 0 && ',}'.includes(this.#glob[this.#at]!))) {
        last = this.#piece(last, depth)
      }
      this.#states[last]!.next.push(end)
      if (depth === 0 || this.#glob[this.#at++] !== ',') return start
    }
  }

  /** Adds the states for the next characters after a state, and gives the last one. */
  #piece(from: number, depth: number): number {
    const char = this.#glob[this.#at++]!
    if (char === '*') return this.#star(from)
    if (char === '?') return this.#take(from, (one, atStart) => one !== '/' && !(atStart && one === '.'))
    if (char === '{' && this.#closes()) {
      const end = this.#add({ next: [] })
      this.#states[from]!.next.push(this.alternatives(depth + 1, end))
      return end
    }
    const group = char === '[' ? this.#group() : undefined
    if (group) return this.#take(from, group)
    const isBehindStar = this.#glob[this.#at - 2] === '*'
    const literal = char === '\\' ? (this.#glob[this.#at++] ?? char) : char
    return this.#take(from, (one, atStart) => one === literal && !(one === '.' && atStart && isBehindStar))
  }

  #star(from: number): number {
    const isName = (one: string, atStart: boolean) => one !== '/' && !(atStart && one === '.')
    const isFolders = this.#glob[this.#at] === '*' && (this.#at === 1 || this.#glob[this.#at - 2] === '/')
    const after = this.#glob[this.#at + 1]
    if (!isFolders || (after !== '/' && after !== undefined)) return this.#repeat(from, isName)
    this.#at += after === '/' ? 2 : 1
    if (after === undefined) return this.#repeat(from, (one, atStart) => one === '/' || isName(one, atStart))
    // No folder, or folders with their slashes.
    const hub = this.#add({ next: [] })
    this.#states[from]!.next.push(hub)
    const inside = this.#repeat(this.#take(hub, isName), isName)
    this.#states[this.#take(inside, one => one === '/')]!.next.push(hub)
    const end = this.#add({ next: [] })
    this.#states[hub]!.next.push(end)
    return end
  }

  /** `[a-z]` or `[!a]`; undefined if it is not closed, and then the bracket is text. */
  #group(): State['takes'] {
    const negated = this.#glob[this.#at] === '!' || this.#glob[this.#at] === '^'
    const first = this.#at + (negated ? 1 : 0)
    const end = this.#glob.indexOf(']', first + 1)
    if (end === -1) return undefined
    const signs = this.#glob.slice(first, end)
    this.#at = end + 1
    const ranges: [from: string, to: string][] = []
    for (let i = 0; i < signs.length; i++) {
      const isRange = signs[i + 1] === '-' && i + 2 < signs.length
      ranges.push([signs[i]!, signs[isRange ? i + 2 : i]!])
      if (isRange) i += 2
    }
    const has = (char: string) => ranges.some(([from, to]) => char >= from && char <= to)
    return (char, atStart) => char !== '/' && !(atStart && char === '.') && has(char) !== negated
  }

  #closes(): boolean {
    return this.#glob.includes('}', this.#at) && this.#glob.includes(',', this.#at)
  }

  #take(from: number, takes: NonNullable<State['takes']>): number {
    const end = this.#add({ next: [] })
    this.#states[from]!.next.push(this.#add({ takes, next: [end] }))
    return end
  }

  #repeat(from: number, takes: NonNullable<State['takes']>): number {
    const hub = this.#add({ next: [] })
    this.#states[from]!.next.push(hub)
    this.#states[hub]!.next.push(this.#add({ takes, next: [hub] }))
    return hub
  }

  #add(state: State): number {
    return this.#states.push(state) - 1
  }
}
