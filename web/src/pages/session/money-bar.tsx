/** The bill as one bar: cache reads, new text, cache misses by cause, output; and the saving. */
import type { Verdict } from '../../api-types.ts'
import { money, percent } from '../../ui/format.ts'

type Part = Verdict['parts'][number]['part'] | 'saved'

const NAMES: Record<Part, string> = {
  read: 'reading the cache',
  new: 'new text',
  pause: 'written again after a pause',
  edit: 'written again after our edits',
  client: 'written again: the client changed it',
  model: 'written again for another model',
  server: 'written again after the server’s edits',
  provider: 'written again: the provider lost it',
  output: 'answers',
  saved: 'saved, not billed',
}

/** Smaller shares are not drawn. */
const LEAST_SHARE = 0.001

export function MoneyBar({ parts: paid, saved }: Pick<Verdict, 'parts' | 'saved'>) {
  const parts = [...paid, { part: 'saved' as const, dollars: Math.max(0, saved) }]
  const whole = parts.reduce((total, { dollars }) => total + dollars, 0)
  if (whole < 0.005) return null
  const seen = parts.filter(({ dollars }) => dollars / whole >= LEAST_SHARE)
  const label = seen.map(({ part, dollars }) => `${money(dollars)} ${NAMES[part]}`).join(', ')
  return (
    <figure className="money-bar">
      <div className="money-parts" role="img" aria-label={`What the bill is made of: ${label}`}>
        {seen.map(({ part, dollars }) => (
          <i
            key={part}
            className={`money-${part}`}
            style={{ flexGrow: dollars / whole }}
            title={`${NAMES[part]}: ${money(dollars)}, ${percent(dollars / whole)}`}
          />
        ))}
      </div>
      <figcaption>
        {seen.map(({ part, dollars }) => (
          <span key={part}>
            <i className={`money-key money-${part}`} /> <b>{money(dollars)}</b> {NAMES[part]}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}
