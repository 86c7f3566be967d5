/**
 * Finds a text in another. `indexOf` takes the product of both lengths where a long text nearly occurs again and again
 * (`aaa…b…aaa` in a run of `a`), so long texts are found by Knuth, Morris and Pratt's search. Pure.
 */
const LONG_CHARS = 100

/** The first place from `from` on; −1 if there is none. */
export function placeOf(text: string, part: string, from = 0): number {
  return part.length < LONG_CHARS ? text.indexOf(part, from) : (search(text, part, { from, most: 1 })[0] ?? -1)
}

export function has(text: string, part: string, from = 0): boolean {
  return placeOf(text, part, from) >= 0
}

/** All places at which `part` occurs, overlapping ones too. */
export function placesOf(text: string, part: string): number[] {
  if (part.length >= LONG_CHARS) return search(text, part, { from: 0, most: Number.POSITIVE_INFINITY })
  if (part === '') return []
  const found: number[] = []
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) found.push(at)
  return found
}

/** The places that do not overlap, from the first on. */
export function separatePlacesOf(text: string, part: string): number[] {
  let done = 0
  return placesOf(text, part).filter(at => {
    const isFree = at >= done
    if (isFree) done = at + part.length
    return isFree
  })
}

/** As `split`, for a part that is not empty. */
export function splitBy(text: string, part: string): string[] {
  const places = separatePlacesOf(text, part)
  const starts = [0, ...places.map(at => at + part.length)]
  return starts.map((start, i) => text.slice(start, places[i]))
}

function search(text: string, part: string, { from, most }: { from: number; most: number }): number[] {
  const border = borders(part)
  const found: number[] = []
  let length = 0
  for (let i = from; i < text.length && found.length < most; i++) {
    const code = text.charCodeAt(i)
    while (length > 0 && (length === part.length || code !== part.charCodeAt(length))) length = border[length - 1]!
    if (code === part.charCodeAt(length)) length++
    if (length === part.length) found.push(i - length + 1)
  }
  return found
}

/** For each prefix of `part`, the length of its longest proper prefix that is also its suffix. */
function borders(part: string): Int32Array {
  const border = new Int32Array(part.length)
  let length = 0
  for (let i = 1; i < part.length; i++) {
    while (length > 0 && part[i] !== part[length]) length = border[length - 1]!
    if (part[i] === part[length]) length++
    border[i] = length
  }
  return border
}
