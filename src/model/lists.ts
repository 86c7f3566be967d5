/** Changes to lists of any length. `push(...list)` fails beyond some 100,000 items: they would all be arguments. Pure. */

export function addAll<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item)
}

/** `splice` without its limit on the number of arguments. */
export function replaceIn<T>(
  list: T[],
  { at, remove, insert }: { at: number; remove: number; insert: readonly T[] },
): void {
  if (insert.length === remove && at + remove <= list.length) {
    for (let i = 0; i < remove; i++) list[at + i] = insert[i]!
    return
  }
  if (insert.length < 10_000) {
    list.splice(at, remove, ...insert)
    return
  }
  const tail = list.slice(at + remove)
  list.length = Math.min(at, list.length)
  addAll(list, insert)
  addAll(list, tail)
}
