/** Milliseconds of processor that work takes: a loaded machine does not change them. Reading may refuse a text. */
export function timeOf(work: () => unknown): number {
  const start = process.cpuUsage()
  try {
    work()
  } catch {
    // A refusal is an answer.
  }
  return process.cpuUsage(start).user / 1000
}
