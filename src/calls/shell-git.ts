/**
 * What a git command does: it reads, restores files, or changes the index and HEAD, from which `git checkout -- file`
 * and `git restore file` restore. A command that is not known to leave these alone may have changed them.
 */
import {
  type FileWrite,
  type GitEffect,
  moving,
  nameSet,
  patching,
  RUN,
  SEARCH,
  type Step,
  WRITE,
} from './shell-steps.ts'
import { plain, type SimpleCommand } from './shell-words.ts'

const GIT_LOOKS = nameSet(
  'log diff status show grep ls-files ls-tree ls-remote blame rev-parse rev-list describe reflog shortlog cat-file merge-base ' +
    'check-ignore name-rev for-each-ref show-ref diff-tree whatchanged show-branch version help',
)
const GIT_LISTS = nameSet('branch tag remote stash worktree config submodule notes')
/** Commands that change neither the index nor HEAD, besides those that only read. */
const HARMLESS = nameSet('fetch push remote tag branch config gc notes init blame bisect-log')
/** Options of commit that take the next word as their value. */
const COMMIT_VALUED = nameSet(
  '-m -F -C -c -t --message --file --author --date --template --cleanup --fixup --squash --trailer --reuse-message',
)
/** Options of `git apply` that apply all of a patch to the files of the working folder. */
const APPLY_PLAIN = nameSet('-v --verbose --index -p1 --whitespace=nowarn --whitespace=fix -')
/** Options of `git add` that stage exactly the working folder's content. */
const ADD_PLAIN = nameSet('-A --all -u --update -f --force -v --verbose --')

export function classifyGit(words: string[], { heredoc }: SimpleCommand): Step {
  let at = 1
  while (words[at]?.startsWith('-')) at += words[at] === '-C' || words[at] === '-c' ? 2 : 1
  const verb = words[at] ?? ''
  const rest = words.slice(at + 1)
  const query = plain([verb, ...rest].join(' '))
  if (GIT_LOOKS.has(verb)) return { rank: SEARCH, query, paths: filesBehind(rest) }
  if (verb === 'apply') return rest.every(word => APPLY_PLAIN.has(word)) ? patching(heredoc) : { rank: WRITE }
  // In another folder, perhaps in another repository.
  if (words.slice(1, at).includes('-C')) return { rank: RUN, git: { type: 'unsure', command: plain(words.join(' ')) } }
  const restored = restoredFiles(verb, rest)
  if (restored.length > 0 && !restored.includes('.')) return bringingBack(restored, verb, rest)
  if (listsOnly(verb, rest)) return { rank: SEARCH, query }
  return { rank: RUN, writes: movedOrRemoved(verb, rest), git: gitEffect(verb, rest) }
}

/** The files that `git mv` and `git rm` move and remove. */
function movedOrRemoved(verb: string, rest: string[]): FileWrite[] {
  const files = rest.filter(word => !word.startsWith('-'))
  if (rest.some(word => /^(?:-n|--dry-run|--cached)$/.test(word))) return []
  if (verb === 'mv') return moving('mv', files).writes ?? []
  return verb === 'rm' ? files.map(path => ({ path, removed: true as const })) : []
}

/** The files that `git restore` or `git checkout --` restores. */
function restoredFiles(verb: string, rest: string[]): string[] {
  if (verb === 'restore' && !rest.includes('--staged') && !rest.includes('-S'))
    return rest.filter(word => !word.startsWith('-'))
  return verb === 'checkout' || verb === 'restore' ? filesBehind(rest) : []
}

/** Restores from the index, or from HEAD if it is named; `checkout HEAD` also changes the index. */
function bringingBack(files: string[], verb: string, rest: string[]): Step {
  const [source, ...more] = rest.slice(0, Math.max(0, rest.indexOf('--')))
  const isPlain =
    verb === 'checkout' ? source === undefined : rest.every(word => word === '--' || !word.startsWith('-'))
  const isHead = verb === 'checkout' && more.length === 0 && (source === 'HEAD' || source === '@')
  if (!isPlain && !isHead)
    return { rank: WRITE, paths: files, writes: files.map(path => ({ path })), git: gitEffect(verb, rest) }
  const restored = isHead ? ('HEAD' as const) : ('index' as const)
  const git = isHead ? { git: { type: 'stage' as const, paths: files } } : {}
  return { rank: WRITE, paths: files, writes: files.map(path => ({ path, restored })), ...git }
}

function listsOnly(verb: string, rest: string[]): boolean {
  if (!GIT_LISTS.has(verb) || (verb === 'stash' && rest.length === 0)) return false
  const asks = rest.some(word => /^(?:-l|--list|--show-current|--get|list|show)$/.test(word))
  return asks || rest.every(word => /^-[avr]+$/.test(word))
}

function filesBehind(words: readonly string[]): string[] {
  const at = words.indexOf('--')
  return at < 0 ? [] : words.slice(at + 1)
}

/** A path that only the shell can expand may be any path. */
export function resolvedEffect(effect: GitEffect, resolved: (path: string) => string | undefined): GitEffect {
  if (effect.type !== 'stage' || effect.paths === 'all') return effect
  const paths = effect.paths.map(path => (path === '.' && resolved(path) === '.' ? '' : resolved(path)))
  if (paths.includes(undefined)) return { type: 'unsure', command: `git add ${effect.paths.map(plain).join(' ')}` }
  return { type: 'stage', paths: paths.includes('') ? 'all' : paths.filter(path => path !== undefined) }
}

function gitEffect(verb: string, rest: readonly string[]): GitEffect | undefined {
  const unsure: GitEffect = { type: 'unsure', command: ['git', verb, ...rest].join(' ') }
  if (HARMLESS.has(verb)) return undefined
  if (verb === 'commit') return committing(rest) ?? unsure
  return verb === 'add' || verb === 'stage' ? (staging(rest) ?? unsure) : unsure
}

function staging(rest: readonly string[]): GitEffect | undefined {
  const options = rest.filter(word => word.startsWith('-'))
  if (options.some(option => !ADD_PLAIN.has(option))) return undefined
  const paths = rest.filter(word => !word.startsWith('-'))
  if (paths.some(path => /[*?[]|^:/.test(path))) return undefined
  if (paths.length > 0) return { type: 'stage', paths }
  return options.length > 0 ? { type: 'stage', paths: 'all' } : undefined
}

/** A commit that names files or has unknown options does not commit just the index. */
function committing(rest: readonly string[]): GitEffect | undefined {
  let all = false
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at]!
    const letters = /^-([a-z]+)$/i.exec(word)?.[1] ?? ''
    if (/^-[piod]|^--(?:patch|interactive|only|include|pathspec|dry-run)/.test(word) || !word.startsWith('-'))
      return undefined
    if (word === '--all' || letters.includes('a')) all = true
    if (COMMIT_VALUED.has(word) || /^[a-z]+m$/i.test(letters)) at++
  }
  return { type: 'commit', all }
}
