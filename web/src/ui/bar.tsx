/** A share as a bar, with its numbers in words for screen readers. */
export type BarProps = {
  /** From 0 to 1; more is drawn full. */
  share: number
  label: string
  tone?: 'plain' | 'good' | 'warn'
}

export function Bar({ share, label, tone = 'plain' }: BarProps) {
  const width = `${(Math.min(1, Math.max(0, share)) * 100).toFixed(2)}%`
  return (
    <div className={`bar bar-${tone}`} role="img" aria-label={label} title={label}>
      <div className="bar-fill" style={{ width }} />
    </div>
  )
}
