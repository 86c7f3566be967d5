/**
 * Repeated reads of one file: the first, the last and a few between stay, the others become pointers.
 *
 * One or two reads stay; of three to five the first and the last stay; from six on up to `samples` more stay, evenly
 * spaced. The samples are every 4th read after the first, every 8th once those are too many, then every 16th. So the
 * choice depends only on the number of reads, and a read that became a pointer is never needed again. A pointer names a
 * copy that is whole and in view. When that copy goes, the pointer is moved to another one.
 */
import { isVisible } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Unit } from '../view/units.ts'
import { type PlanContext, type Policy, type PolicyRun, placeOf } from './policy.ts'
import { isReachable, isWhole, newRecords, newUnits, placesEdited, targetOf } from './reach.ts'

type RepeatReadsOptions = {
  /** Most reads that are kept between the first and the last. */
  samples: number
}

const REPEAT_READS: RepeatReadsOptions = { samples: 3 }

const NAME = 'repeat-reads'
const CLOSEST_SAMPLES = 4

type Where = 'above' | 'below' | 'nowhere'
type Read = { unit: Unit; number: number }
/** The reads of one file (and one range of lines). `kept`: the reads that are not pointers, oldest first. */
type File = { path: string; reads: number; kept: Read[]; pointers: { unit: Unit; where: Where }[]; target?: Unit }

export function repeatReads(options: Partial<RepeatReadsOptions> = {}): Policy {
  const { samples } = { ...REPEAT_READS, ...options }
  return { name: NAME, start: () => startRepeatReads(samples) }
}

export function pointerText(path: string, where: Where = 'above'): string {
  if (where === 'above') return `[Re-read of ${path} - see first read above for content]`
  if (where === 'below') return `[Re-read of ${path} - see later read below for content]`
  return `[Re-read of ${path} - no longer in view, read it again if needed]`
}

/** Whether, of `reads` reads, the one with this number (from 1) stays whole. */
export function staysWhole(number: number, reads: number, samples: number): boolean {
  if (number === 1 || number === reads) return true
  if (samples === 0 || reads <= 5) return reads <= 2
  return (number - 1) % spacing(reads, samples) === 0
}

/** The distance between samples: the smallest that leaves no more than allowed between the first and the last. */
function spacing(reads: number, samples: number): number {
  let step = CLOSEST_SAMPLES
  while (Math.floor((reads - 2) / step) > samples) step *= 2
  return step
}

function startRepeatReads(samples: number): PolicyRun {
  const files = new Map<string, File>()
  const fresh = newUnits()
  let edited: Set<string> | undefined
  const records = newRecords()

  return { plan }

  function plan(context: PlanContext): Proposal[] {
    edited ??= placesEdited(context.fold, NAME)
    const grown = new Set<File>()
    for (const unit of fresh(context.units)) {
      const file = isRead(unit) ? note(unit) : undefined
      if (file) grown.add(file)
    }
    const proposals: Proposal[] = []
    for (const file of grown) proposals.push(...shrink(context, file, edited))
    for (const file of withTargets(context)) proposals.push(...retarget(context, file))
    return proposals
  }

  /** The files whose copy may no longer be in view: none if nothing was edited. */
  function withTargets({ fold, ranges = [] }: PlanContext): File[] {
    const isEdited = [...records(fold)].length > 0 || ranges.length > 0
    return isEdited ? [...files.values()].filter(({ target }) => target) : []
  }

  function note(unit: Unit): File {
    const key = keyOf(unit)
    let file = files.get(key)
    if (!file) files.set(key, (file = { path: unit.call?.path ?? '', reads: 0, kept: [], pointers: [] }))
    file.kept.push({ unit, number: ++file.reads })
    return file
  }

  /** Turns the reads that need not stay into pointers to one that does. */
  function shrink(context: PlanContext, file: File, before: Set<string>): Proposal[] {
    const { keep = [], go = [] } = Object.groupBy(file.kept, ({ number }) =>
      staysWhole(number, file.reads, samples) ? 'keep' : 'go',
    )
    file.kept = keep
    const proposals: Proposal[] = []
    for (const { unit } of go) {
      if (before.has(placeOf(targetOf(unit)))) {
        file.pointers.push({ unit, where: 'above' })
        continue
      }
      const where = target(context, file, unit)
      if (where === 'nowhere' || !isReachable(context, unit)) continue
      file.pointers.push({ unit, where })
      proposals.push(proposal(file, unit, where))
    }
    if (before.size > 0 && file.pointers.length > 0) target(context, file, file.pointers[0]!.unit)
    return proposals
  }

  /** Whether a whole copy in view is above or below a read. Remembers which copy it is. */
  function target(context: PlanContext, file: File, unit: Unit): Where {
    if (!file.target || !isWhole(context, file.target)) {
      file.target = file.kept.find(read => isWhole(context, read.unit))?.unit
    }
    if (!file.target) return 'nowhere'
    return file.target.entry <= unit.entry ? 'above' : 'below'
  }

  function retarget(context: PlanContext, file: File): Proposal[] {
    if (file.target && isWhole(context, file.target)) return []
    const proposals: Proposal[] = []
    file.pointers = file.pointers.filter(({ unit }) => isVisible(context.fold, unit.entry))
    for (const pointer of file.pointers) {
      const where = target(context, file, pointer.unit)
      if (where === pointer.where || !isReachable(context, pointer.unit) || isWhole(context, pointer.unit)) continue
      pointer.where = where
      proposals.push(proposal(file, pointer.unit, where))
    }
    return proposals
  }
}

function proposal(file: File, unit: Unit, where: Where): Proposal {
  return {
    policy: NAME,
    target: targetOf(unit),
    replacement: pointerText(file.path, where),
    why: where === 'nowhere' ? `no whole copy of ${file.path} is in view` : `${file.path} was read ${file.reads} times`,
    mark: 'pointer',
  }
}

function isRead({ original, call }: Unit): boolean {
  if (original.type !== 'tool-result' || original.isError) return false
  return call?.kind === 'read' && call.path !== undefined && (call.paths?.length ?? 1) === 1
}

/** Reads of different lines of a file have different keys. */
function keyOf({ call }: Unit): string {
  return JSON.stringify([call?.path, call?.range?.map(String), call?.query])
}
