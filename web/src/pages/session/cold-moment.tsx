/** A notice before a call with a cold cache: its cost, and the edits that are free now. */
import { useEffect } from 'react'
import type { Moment } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { price, tokens } from '../../ui/format.ts'

type ColdMomentProps = {
  moment: Moment | undefined
  /** When the session was last used; nothing is shown for old sessions. */
  usedAt: number | undefined
  onChoose(ids: readonly string[]): void
  /** Reloads when the cache has become cold meanwhile. */
  reload(): void
}

const RECENT_MS = 24 * 3_600_000

export function ColdMoment({ moment, usedAt = 0, onChoose, reload }: ColdMomentProps) {
  const coldAt = moment && !moment.isCold ? moment.coldAt : null
  useEffect(() => {
    if (coldAt === null) return
    const timer = setTimeout(reload, Math.max(0, coldAt - Date.now()) + 1000)
    return () => clearTimeout(timer)
  }, [coldAt, reload])
  if (!moment?.isCold || Date.now() - usedAt > RECENT_MS) return null
  const free = moment.parts.filter(({ id }) => moment.free.includes(id))
  const size = free.reduce((sum, part) => sum + part.tokens, 0)
  const saves = free.reduce((sum, part) => sum + part.perCallUsd, 0)
  return (
    <section className="notice notice-warn cold" aria-label="Cold cache">
      <p>
        <b>The cache is cold.</b> The next call writes {tokens(moment.tokens)} tokens again, {price(moment.nextUsd)}.
        Until then every edit is free
        {free.length > 0
          ? `: ${free.length === 1 ? 'one large result that is' : `${free.length} large results that are`} rarely quoted later could be removed: ${tokens(size)} tokens, ${price(saves)} less with every call.`
          : '.'}
      </p>
      <Button small onClick={() => onChoose(moment.free)}>
        {free.length > 0 ? 'Look at them' : 'Choose parts'}
      </Button>
    </section>
  )
}
