/**
 * Lasting preferences of users, recognised by their words: "always …", "never …", "use X, not Y", "I prefer …". No
 * model is called. A preference stated in two sessions becomes a proposal (agent/preferences.ts). Pure.
 */

/** Search words for such sentences. */
export const PREFERENCE_WORDS = [
  'always',
  'never',
  'prefer',
  'instead',
  'from now on',
  "don't use",
  'please use',
  'stop',
]

/** A longer text is a pasted document. */
const MAX_TEXT_CHARS = 2000
const MAX_SENTENCE_CHARS = 200
const MIN_SENTENCE_WORDS = 3
const SAYINGS = [
  /\b(?:always|never)\b/i,
  /\bfrom now on\b/i,
  /\bi(?:'d| would)? (?:really )?prefer\b/i,
  /\b(?:please |just )?use \S.{0,80}? (?:instead of|rather than|and not|not) \S/i,
  /\b(?:don't|do not|stop) (?:ever )?(?:use|using|add|adding|write|writing|put|putting|run|running|create|creating|commit|committing)\b/i,
  /\bplease (?:use|write|keep|call|name|run|add|put) \S/i,
]
/** Texts that programs add begin with one of these. */
const ADDED = ['[TASK ANCHOR]', '[Summary', '[Restored']

export function preferencesIn(text: string): string[] {
  const said = withoutTags(text.slice(0, 10 * MAX_TEXT_CHARS))
    .split('```')
    .filter((_, i) => i % 2 === 0)
  const own = said.join('\n').trim()
  if (own.length > MAX_TEXT_CHARS || ADDED.some(beginning => own.startsWith(beginning))) return []
  return own
    .split(/[\n!?]|\.(?=\s|$)/)
    .map(sentence => sentence.trim())
    .filter(sentence => !sentence.startsWith('>'))
    .map(sentence => sentence.replace(/^[*+-]+ /, '').replace(/^(?:and|but|also|so|ok|okay),? /i, ''))
    .filter(sentence => sentence.length <= MAX_SENTENCE_CHARS && sentence.split(/\s+/).length >= MIN_SENTENCE_WORDS)
    .filter(sentence => SAYINGS.some(saying => saying.test(sentence)))
}

/** Removes tagged text, which programs added and the user did not write. */
function withoutTags(text: string): string {
  let rest = text
  for (let from = 0; ; ) {
    const found = /<([A-Za-z][\w-]{0,60})>/.exec(rest.slice(from))
    if (!found) return rest
    const begin = from + found.index
    const end = rest.indexOf(`</${found[1]}>`, begin)
    if (end < 0) from = begin + 1
    else {
      rest = `${rest.slice(0, begin)}\n${rest.slice(end + found[1]!.length + 3)}`
      from = begin
    }
  }
}
