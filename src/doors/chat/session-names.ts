/** The name of an unnamed session: the day and a number, so that a list of them reads in order. */
import { localDay } from '../../model/text.ts'
import type { Palimpsest } from '../../session/engine.ts'

export async function newSessionName(pal: Pick<Palimpsest, 'find'>, now = Date.now()): Promise<string> {
  const day = `chat-${localDay(now)}`
  for (let n = 1; ; n++) {
    const name = n === 1 ? day : `${day}-${n}`
    if (!(await pal.find(name))) return name
  }
}
