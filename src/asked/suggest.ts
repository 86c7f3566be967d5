/**
 * Finds stretches of shown text that an agent could replace at little loss: stack traces, output of package
 * managers, logs of one shape, large JSON, base64. Each suggestion is a `replace` operation that `edit` takes as it
 * is: its marks are unique in the view, the edit is allowed, and it saves tokens.
 */

import { isPalimpsestError } from '../model/errors.ts'
import { cut } from '../model/text.ts'
import type { Counter } from '../model/tokens.ts'
import type { Model } from '../providers/models.ts'
import { lastRunningReasoning } from '../view/binding.ts'
import { entriesOf } from '../view/edits.ts'
import type { Fold } from '../view/fold.ts'
import { assertAllowed } from '../view/scope.ts'
import { type ShownText, shownTexts } from '../view/shown-texts.ts'
import { findMatches, type ReplaceOperation, resolveOperations } from './context-edits.ts'
import { type Stretch, stretchesIn, WORTH } from './stretches.ts'

export type Suggestion = { operation: ReplaceOperation; reason: string; entry: number; part: number; tokens: number }

type SuggestOptions = { count: Counter; model: Model; most?: number }

/** The lengths that the marks may take until they are unique. */
const MARK_CHARS = [48, 120, 300, 800]
const MAX_SUGGESTIONS = 20

export function suggestEdits(fold: Fold, { count, model, most = MAX_SUGGESTIONS }: SuggestOptions): Suggestion[] {
  const texts = [...shownTexts(fold)]
  const found: Suggestion[] = []
  for (const shown of texts) {
    if (shown.role === 'system' || shown.role === 'user' || shown.text.length < WORTH) continue
    for (const stretch of stretchesIn(shown.text)) {
      const tokens = count(shown.text.slice(stretch.from, stretch.to)) - count(stretch.replacement)
      const operation = tokens > 0 ? toOperation(texts, shown, stretch) : undefined
      const { entry, part } = shown
      if (operation) found.push({ operation, reason: stretch.reason, entry, part, tokens })
    }
  }
  return found
    .sort((a, b) => b.tokens - a.tokens)
    .filter(suggestion => isAllowed(fold, suggestion.operation, model))
    .slice(0, most)
}

/** The shortest marks that enclose the stretch and nothing else in view; `undefined` if there are none. */
function toOperation(texts: readonly ShownText[], shown: ShownText, stretch: Stretch): ReplaceOperation | undefined {
  const { from, to, replacement } = stretch
  for (const length of MARK_CHARS) {
    if (2 * length > to - from) return undefined
    const operation = {
      start: cut(shown.text, from, from + length),
      end: cut(shown.text, to - length, to),
      replacement,
    }
    const matches = findMatches(texts, operation)
    const [match] = matches
    if (matches.length === 1 && match!.text === shown && match!.from === from && match!.to === to) return operation
  }
  return undefined
}

function isAllowed(fold: Fold, operation: ReplaceOperation, model: Model): boolean {
  try {
    const [resolved] = resolveOperations(fold, [operation])
    // Saving a few tokens is not worth losing the reasoning of the running turn.
    const isBound = model.binding === 'refuse' && entriesOf(resolved!.target).from < lastRunningReasoning(fold)
    if (isBound) return false
    assertAllowed(fold, [{ ...resolved!, id: 'suggested', by: 'agent', saved: 0 }], model)
    return true
  } catch (error) {
    if (isPalimpsestError(error)) return false
    throw error
  }
}
