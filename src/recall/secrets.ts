/**
 * Finds likely secrets in a text: keys and tokens of known providers, and private keys, by their shape.
 *
 * A pattern names a prefix that its provider uses only for secrets, so ordinary code, hashes and ids do not match; a
 * password without such a shape is not found. Each pattern takes linear time.
 */

export type Secret = { kind: string; start: number; end: number }

/** A secret begins at the beginning of a word, or after an escaped line end in quoted text. */
const PATTERNS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  [
    'private key',
    /-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-{1,4}[^-]+)*-----END (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g,
  ],
  // A private key that was cut short.
  [
    'private key',
    /-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]){0,4}[A-Za-z0-9+/=]{32}(?:[A-Za-z0-9+/=\s]|\\[nr])*/g,
  ],
  ['Anthropic key', /(?:(?<![\w-])|(?<=\\[nrt]))sk-ant-[\w-]{24,}/g],
  ['OpenAI key', /(?:(?<![\w-])|(?<=\\[nrt]))sk-(?:(?:proj|svcacct|admin)-[\w-]{24,}|[A-Za-z0-9]{40,})/g],
  ['Google key', /(?:(?<![\w-])|(?<=\\[nrt]))(?:AIza[\w-]{35}(?![\w-])|GOCSPX-[\w-]{28}(?![\w-])|ya29\.[\w-]{30,})/g],
  ['AWS key', /(?:(?<![\w-])|(?<=\\[nrt]))(?:AKIA|ASIA)[A-Z2-7]{16}(?!\w)/g],
  [
    'AWS key',
    /(?<=(?:aws_secret_access_key|SecretAccessKey)["']{0,2} ?[:=] ?["']?)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])/gi,
  ],
  ['GitHub token', /(?:(?<![\w-])|(?<=\\[nrt]))(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{36,})/g],
  ['GitLab token', /(?:(?<![\w-])|(?<=\\[nrt]))gl(?:pat|ptt|dt|rt|cbt|oas)-[\w-]{20,}/g],
  ['Slack token', /(?:(?<![\w-])|(?<=\\[nrt]))(?:xox[abeoprs]-\d[A-Za-z0-9-]{20,}|xapp-\d-[A-Za-z0-9-]{20,})/g],
  ['Stripe key', /(?:(?<![\w-])|(?<=\\[nrt]))(?:[sr]k_(?:live|test)_[A-Za-z0-9]{20,}|whsec_[A-Za-z0-9]{32,})/g],
  ['npm token', /(?:(?<![\w-])|(?<=\\[nrt]))npm_[A-Za-z0-9]{36}(?!\w)/g],
  ['Palimpsest token', /(?:(?<![\w-])|(?<=\\[nrt]))pal_[\w-]{43}(?![\w-])/g],
  ['JWT', /(?:(?<![\w-])|(?<=\\[nrt]))eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{16,}/g],
]

/** Secrets in the order of the text, without overlaps. */
export function secretsIn(text: string): Secret[] {
  const found = PATTERNS.flatMap(([kind, pattern]) =>
    [...text.matchAll(pattern)].map(match => ({ kind, start: match.index, end: match.index + match[0].length })),
  )
  return apart(found)
}

/** Sorts by place, and keeps the first of those that overlap. */
export function apart(found: readonly Secret[]): Secret[] {
  let end = 0
  const sorted = [...found].sort((a, b) => a.start - b.start || b.end - a.end)
  return sorted.filter(secret => {
    if (secret.start < end) return false
    end = secret.end
    return true
  })
}

/** Enough of a secret for its owner to recognise it, and too little to use. */
export function hintOf(secret: string): string {
  return `${secret.slice(0, 4)}…${secret.slice(-2)}`
}
