/** The processor time of work in milliseconds: a loaded machine does not change it. Reading may refuse a text. */
export function timeOf(work: () => unknown): number {
  const start = process.cpuUsage()
  try {
    work()
  } catch {
    // A refusal counts as an answer.
  }
  return process.cpuUsage(start).user / 1000
}
