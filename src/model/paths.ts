/**
 * Paths as text: two spellings of one file become one. The file system is not asked, so symlinks are not resolved,
 * and case matters.
 */

/**
 * Forward slashes, no `.` and no `a/..`, no slash at the end; a relative path is joined to `cwd` if there is one.
 * Leading `..` steps of a relative path stay.
 */
export function normalizePath(path: string, cwd?: string): string {
  let text = path.replaceAll('\\', '/')
  if (cwd !== undefined && cwd !== '' && !isAbsolutePath(text)) text = `${cwd.replaceAll('\\', '/')}/${text}`
  if (/^[a-z]:/.test(text)) text = text[0]!.toUpperCase() + text.slice(1)
  const root = /^(?:[A-Z]:)?\/+|^[A-Z]:/i.exec(text)?.[0] ?? ''
  const steps = stepsOf(text.slice(root.length), root === '')
  // A network share keeps both of its slashes.
  const isShare = root === '//' && steps.length > 0
  const clean = isShare ? root : root.replace(/\/+/, '/')
  // With a leading dot, a name that looks like a drive is not one.
  const dot = root === '' && /^[a-z]:/i.test(steps[0] ?? '') ? './' : ''
  return dot + clean + steps.join('/') || '.'
}

function stepsOf(path: string, relative: boolean): string[] {
  const steps: string[] = []
  for (const step of path.split('/')) {
    if (step === '' || step === '.') continue
    if (step !== '..') steps.push(step)
    else if (steps.length > 0 && steps.at(-1) !== '..') steps.pop()
    else if (relative) steps.push(step)
  }
  return steps
}

/**
 * True if two normalised paths most likely name one file: they are equal, or one is relative and the other ends with
 * it. So a tool with relative paths and one with absolute paths agree.
 */
export function sameFile(a: string, b: string): boolean {
  if (a === b) return true
  if (isAbsolutePath(a) === isAbsolutePath(b)) return false
  const [whole, end] = isAbsolutePath(a) ? [a, b] : [b, a]
  return !end.startsWith('..') && whole.endsWith(`/${end}`)
}

export function isAbsolutePath(path: string): boolean {
  return /^(?:\/|~|[A-Za-z]:)/.test(path)
}
