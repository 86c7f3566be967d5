/** Walks over all sessions page by page, most recently used first. */
type Wanted = { after?: string; limit?: number; contains?: string; changedWithin?: number }
type Paged<T> = { sessions(options?: Wanted): Promise<T[]> }

export async function* everySession<T extends { id: string }>(pal: Paged<T>, options: Wanted = {}): AsyncGenerator<T> {
  let page = await pal.sessions(options)
  for (; page.length > 0; page = await pal.sessions({ ...options, after: page.at(-1)!.id })) yield* page
}

export async function allNames(pal: Paged<{ id: string }>): Promise<string[]> {
  const names: string[] = []
  for await (const { id } of everySession(pal)) names.push(id)
  return names
}
