/**
 * fast-check, as every property test uses it: `import * as fc from '../property.ts'`.
 *
 * `npm test` runs each property with one fixed seed, and with the `seeds` that once found a bug: the same code gives
 * the same outcome. `npm run fuzz` (scripts/fuzz.ts) gives another seed and lets each property run for some time.
 */
import * as fc from 'fast-check'

export * from 'fast-check'

const SEED = 20_261_101
const FUZZ_RUNS = 10

/** The settings of `npm run fuzz` and `npm run mutate`, in the environment of the tests that they start. */
const { FUZZ_SEED, FUZZ_MILLISECONDS, MUTANT } = process.env

export type Parameters<T> = Omit<fc.Parameters<T>, 'seed'> & {
  /** Seeds that found a bug: each is one more case, with the path to it if there is one. */
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
  return assertEach(property as fc.IAsyncProperty<T>, all)
}

async function assertEach<T>(property: fc.IAsyncProperty<T>, all: Iterable<fc.Parameters<T>>): Promise<void> {
  for (const given of all) await fc.assert(property, given)
}

function* parametersOf<T>({ seeds = [], ...parameters }: Parameters<T>): Generator<fc.Parameters<T>> {
  if (FUZZ_SEED !== undefined) return yield* fuzzed(parameters, Number(FUZZ_SEED))
  // For a mutation it is enough that a property fails; a smaller case is not searched for.
  const given = { ...parameters, ...(MUTANT === undefined ? {} : { endOnFailure: true }) }
  for (const seed of [SEED, ...seeds]) yield { ...given, ...(typeof seed === 'number' ? { seed } : seed) }
}

/** A few cases with each next seed until the time is over. No case is interrupted: it may use files and servers. */
function* fuzzed<T>(parameters: fc.Parameters<T>, first: number): Generator<fc.Parameters<T>> {
  const end = Date.now() + Number(FUZZ_MILLISECONDS)
  const numRuns = Math.min(parameters.numRuns ?? FUZZ_RUNS, FUZZ_RUNS)
  for (let seed = first; seed === first || Date.now() < end; seed++) yield { ...parameters, numRuns, seed }
}
