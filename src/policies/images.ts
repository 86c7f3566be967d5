/**
 * A budget for images and their bytes, which providers limit separately from tokens: above it the oldest images become
 * a stub. An image inside a tool result is replaced together with the result, whose texts stay unchanged.
 */

import { bytesOfImage, imageStub, imagesIn } from '../model/leaves.ts'
import { withCommas } from '../model/text.ts'
import type { Part } from '../model/types.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Unit } from '../view/units.ts'
import type { PlanContext, Policy, PolicyRun } from './policy.ts'
import { canEdit, editedBefore, newUnits, Queue, targetOf } from './reach.ts'

type ImagesOptions = {
  /** Most images in view. */
  count: number
  /** Most bytes of images in view. */
  bytes: number
}

const IMAGES: ImagesOptions = { count: 20, bytes: 20_000_000 }

const NAME = 'images'

type Shown = { unit: Unit; count: number; bytes: number }

export function images(options: Partial<ImagesOptions> = {}): Policy {
  const chosen = { ...IMAGES, ...options }
  return { name: NAME, start: () => startImages(chosen) }
}

function startImages(budget: ImagesOptions): PolicyRun {
  const fresh = newUnits()
  const shown = new Queue<Shown>()
  let count = 0
  let bytes = 0
  const isEdited = editedBefore(NAME)

  return {
    plan(context: PlanContext): Proposal[] {
      for (const unit of fresh(context.units)) note(unit, context)
      const proposals: Proposal[] = []
      while ((count > budget.count || bytes > budget.bytes) && shown.first) {
        const oldest = shown.shift()!
        count -= oldest.count
        bytes -= oldest.bytes
        if (canEdit(context, oldest.unit)) proposals.push(toProposal(oldest))
      }
      return proposals
    },
  }

  function note(unit: Unit, context: PlanContext): void {
    const found = imagesIn(unit.original)
    if (found.length === 0 || isEdited(context, unit)) return
    const size = found.reduce((total, image) => total + bytesOfImage(image), 0)
    shown.push({ unit, count: found.length, bytes: size })
    count += found.length
    bytes += size
  }
}

function toProposal({ unit, count, bytes }: Shown): Proposal {
  const why = `images exceed their budget, and ${count === 1 ? 'this is' : 'these are'} the oldest (${withCommas(bytes)} bytes)`
  return { policy: NAME, target: targetOf(unit), replacement: stubFor(unit.original), why, mark: 'stub' }
}

function stubFor(part: Part): string {
  if (part.type === 'image') return imageStub(part)
  if (part.type === 'text') return part.text
  if (part.type !== 'tool-result' || typeof part.output === 'string') return ''
  return part.output.map(stubFor).join('\n')
}
