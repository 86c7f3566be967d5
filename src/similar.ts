/**
 * Lines that look like a given text: what to suggest when a literal match fails. Compares pairs of characters
 * (Dice's coefficient), looks at a bounded number of lines, and suggests only what is really close.
 */

const MAX_LINES = 20_000
const CLOSE = 0.5

export function similarLines(texts: Iterable<string>, pattern: string, most = 3): string[] {
  const wanted = pairsOf(firstLine(pattern))
  if (wanted.size === 0) return []
  const found = new Map<string, number>()
  let seen = 0
  for (const text of texts) {
    for (const line of text.split('\n')) {
      if (++seen > MAX_LINES) return best(found, most)
      const trimmed = line.trim().slice(0, 200)
      if (trimmed.length < 4 || found.has(trimmed)) continue
      const score = closeness(wanted, pairsOf(trimmed))
      if (score >= CLOSE) found.set(trimmed, score)
    }
  }
  return best(found, most)
}

function best(found: ReadonlyMap<string, number>, most: number): string[] {
  return [...found]
    .sort((a, b) => b[1] - a[1])
    .slice(0, most)
    .map(([line]) => line)
}

function firstLine(text: string): string {
  return (text.split('\n').find(line => line.trim() !== '') ?? '').trim().slice(0, 200)
}

function pairsOf(text: string): Set<string> {
  const lower = text.toLowerCase()
  const pairs = new Set<string>()
  for (let i = 0; i + 2 <= lower.length; i++) pairs.add(lower.slice(i, i + 2))
  return pairs
}

function closeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0
  for (const pair of a) if (b.has(pair)) common++
  return (2 * common) / (a.size + b.size)
}
