/**
 * Work on a store that answers at once (SQLite) or later (PostgreSQL), written once for both as a generator that
 * yields a question and receives the answer. `runNow` keeps everything in one turn of the event loop, as a SQLite
 * transaction requires.
 */
export type Now<T> = T | Promise<T>
export type Steps<T> = Generator<unknown, T, unknown>

export function* ask<T>(answer: Now<T>): Steps<T> {
  return (yield answer) as T
}

/** `answer` answers each yielded question; by default, a question is its own answer. */
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
