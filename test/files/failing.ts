/** System calls that fail, for tests of the reaction of the code. */
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

/** Makes a function of the file system fail with the code that `fail` returns; without a code it works normally. */
export async function withFailing<T>(
  name: 'access' | 'link' | 'lstat' | 'mkdir' | 'open' | 'rename',
  fail: (path: string) => string | undefined,
  work: () => Promise<T>,
) {
  const real = promises[name] as (path: string, ...more: unknown[]) => Promise<unknown>
  Object.assign(promises, {
    [name]: async (path: string, ...more: unknown[]) => {
      const code = fail(String(path))
      if (code === undefined) return real(path, ...more)
      throw Object.assign(new Error(code), { code })
    },
  })
  syncBuiltinESMExports()
  try {
    return await work()
  } finally {
    Object.assign(promises, { [name]: real })
    syncBuiltinESMExports()
  }
}
