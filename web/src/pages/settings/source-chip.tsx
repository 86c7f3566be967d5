/** Where a setting came from. */
import type { Setting } from '../../api-types.ts'

const WORDS: Record<Setting['source'], string> = {
  default: 'default',
  file: 'palimpsest.json',
  environment: 'environment',
  flag: 'flag',
}

export function SourceChip({ setting }: { setting: Pick<Setting, 'source' | 'from'> | undefined }) {
  const { source, from } = setting ?? { source: 'default', from: null }
  const isNamed = source === 'environment' || source === 'flag'
  return (
    <span className={`chip source source-${source}`} title={from ?? undefined}>
      <i aria-hidden="true" />
      {WORDS[source]}
      {isNamed && from && <code>{from}</code>}
    </span>
  )
}
