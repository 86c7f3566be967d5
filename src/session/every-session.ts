/** Sessions of any number, page by page, the last used first. */
type Paged<T> = { sessions(options?: { after?: string }): Promise<T[]> }

export async function* everySession<T extends { id: string }>(pal: Paged<T>): AsyncGenerator<T> {
  for (let page = await pal.sessions(); page.length > 0; page = await pal.sessions({ after: page.at(-1)!.id })) {
    yield* page
  }
}
