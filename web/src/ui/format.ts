/** Numbers, money and times as people read them. Pure. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const cents = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** 12,345 */
export function count(value: number): string {
  return whole.format(value)
}

/** 12.3K: for places where a digit more would be noise. */
export function tokens(value: number): string {
  return Math.abs(value) < 1000 ? whole.format(value) : short.format(value)
}

/** $1.23, to the cent; a smaller amount that is not zero is shown as less than a cent. */
export function money(dollars: number): string {
  const size = Math.abs(dollars)
  const sign = dollars < 0 ? '−' : ''
  if (size > 0 && size < 0.005) return `${sign}<$0.01`
  return `${sign}$${cents.format(size)}`
}

/** For single calls: more digits for fractions of a cent. */
export function price(dollars: number): string {
  const size = Math.abs(dollars)
  if (size === 0 || size >= 0.01) return money(dollars)
  return `${dollars < 0 ? '−' : ''}$${size.toFixed(size >= 0.001 ? 4 : 6)}`
}

export function percent(share: number): string {
  const value = share * 100
  return `${Math.abs(value) < 10 && value !== 0 ? value.toFixed(1) : Math.round(value)} %`
}

/** The size of a file. */
export function bytes(size: number): string {
  return size < 1024 * 1024 ? `${count(Math.ceil(size / 1024))} KB` : `${count(Math.round(size / 1024 / 1024))} MB`
}

/** `1 call`, `2 calls`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

/** `44 tokens fewer`, or `44 tokens more` for what made the prompt longer. */
export function fewer(saved: number): string {
  const size = Math.round(saved)
  return size === 0 ? 'as many tokens as before' : `${plural(Math.abs(size), 'token')} ${size > 0 ? 'fewer' : 'more'}`
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `3 min ago`; after a week the day, in another year the month. */
export function ago(at: number, now: number): string {
  const passed = now - at
  if (passed < MINUTE) return 'just now'
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min ago`
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h ago`
  if (passed < 7 * DAY) return `${plural(Math.floor(passed / DAY), 'day')} ago`
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear()
  const more = isThisYear ? { day: 'numeric' as const } : { year: 'numeric' as const }
  return new Date(at).toLocaleDateString('en', { month: 'short', ...more })
}

export function dateTime(at: number): string {
  return new Date(at).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'medium' })
}
