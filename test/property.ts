/**
 * fast-check, as every property test uses it: `import * as fc from '../property.ts'`.
 *
 * `npm test` runs each property with one fixed seed, and with the `seeds` that once found a bug: the same code gives
 * the same outcome. `npm run fuzz` (scripts/fuzz.ts) gives another seed and lets each property run for some time.
 */
import * as fc from 'fast-check'

export * from 'fast-check'

const SEED = 20_261_101

/** What `npm run fuzz` and `npm run mutate` ask for, in the environment of the tests that they start. */
const { FUZZ_SEED, FUZZ_MILLISECONDS, MUTANT } = process.env

export type Parameters<T> = Omit<fc.Parameters<T>, 'seed'> & {
  /** Seeds that found a bug: each is one more case, with the path to it where there is one. */
  seeds?: (number | { seed: number; path: string })[]
}

export function assert<T>(property: fc.IAsyncProperty<T>, parameters?: Parameters<T>): Promise<void>
export function assert<T>(property: fc.IProperty<T>, parameters?: Parameters<T>): void
export function assert<T>(
  property: fc.IProperty<T> | fc.IAsyncProperty<T>,
  parameters: Parameters<T> = {},
): Promise<void> | void {
  const all = parametersOf(parameters)
  if (!property.isAsync()) {
    for (const given of all) fc.assert(property as fc.IProperty<T>, given)
    return
  }
  return all.reduce<Promise<void>>(
    (before, given) => before.then(() => fc.assert(property as fc.IAsyncProperty<T>, given)),
    Promise.resolve(),
  )
}

function parametersOf<T>({ seeds = [], ...parameters }: Parameters<T>): fc.Parameters<T>[] {
  if (FUZZ_SEED === undefined) {
    // That a change makes a property fail is enough to know; a smaller case is not looked for.
    const given = { ...parameters, ...(MUTANT === undefined ? {} : { endOnFailure: true }) }
    return [SEED, ...seeds].map(seed => ({ ...given, ...(typeof seed === 'number' ? { seed } : seed) }))
  }
  return [
    {
      ...parameters,
      seed: Number(FUZZ_SEED),
      numRuns: Number.MAX_SAFE_INTEGER,
      interruptAfterTimeLimit: Number(FUZZ_MILLISECONDS),
      markInterruptAsFailure: false,
      reporter: unlessNoTime,
    },
  ]
}

/** On a busy machine the time can be over before the first case has run: that is no finding. */
function unlessNoTime<T>(details: fc.RunDetails<T>): void {
  if (details.interrupted && details.numRuns === 0) return
  if (details.failed) throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance })
}
