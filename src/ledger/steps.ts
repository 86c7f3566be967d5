/**
 * Work on a store that answers at once (SQLite) or later (PostgreSQL), written once for both: a generator that asks and
 * goes on with the answer. `runNow` keeps everything in one turn of the event loop, as a SQLite transaction needs it.
 */
export type Now<T> = T | Promise<T>
export type Steps<T> = Generator<unknown, T, unknown>

export function* ask<T>(answer: Now<T>): Steps<T> {
  return (yield answer) as T
}

/** `answer` gives the answer to what is asked; without it, what is asked is its own answer. */
export function runNow<T>(steps: Steps<T>, answer: (asked: unknown) => unknown = itself): T {
  let step = steps.next()
  while (!step.done) step = steps.next(answer(step.value))
  return step.value
}

export async function runLater<T>(steps: Steps<T>, answer: (asked: unknown) => unknown = itself): Promise<T> {
  let step = steps.next()
  while (!step.done) step = steps.next(await answer(step.value))
  return step.value
}

function itself(asked: unknown): unknown {
  return asked
}
