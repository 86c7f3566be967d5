/**
 * The processor time of work in milliseconds: a loaded machine does not change it. Reading may refuse a text, but not
 * because it is too long for the stack.
 */
export function timeOf(work: () => unknown): number {
  const start = process.cpuUsage()
  try {
    work()
  } catch (error) {
    if (error instanceof RangeError) throw error
  }
  return process.cpuUsage(start).user / 1000
}
