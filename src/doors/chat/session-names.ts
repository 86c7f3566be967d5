/** The name of an unnamed session: the day and a number, so that a list of them reads in order. */
import type { Palimpsest } from '../../session/engine.ts'

export async function newSessionName(pal: Pick<Palimpsest, 'find'>, now = new Date()): Promise<string> {
  const two = (part: number) => String(part).padStart(2, '0')
  const day = `chat-${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`
  for (let n = 1; ; n++) {
    const name = n === 1 ? day : `${day}-${n}`
    if (!(await pal.find(name))) return name
  }
}
