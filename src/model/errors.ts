/**
 * One error class for mistakes of callers and for failures outside our control. `code` is stable and documented in
 * docs/errors.md; `message` says what to do; further fields have the data.
 */

/** Every code, with the exit code that the CLI gives for it. */
export const ERROR_CODES = {
  /** The caller's arguments do not fit. */
  INVALID_INPUT: 2,
  /** A message that breaks the rules of tool calls: duplicate id, result without a call, … */
  INVALID_MESSAGE: 2,
  /** Text that is not valid Unicode. */
  INVALID_UNICODE: 2,
  /** A part larger than the limit. */
  TOO_LARGE: 2,
  CONFIG_INVALID: 2,
  /** A path that leads outside the root, or to something that is not a plain file or folder. */
  PATH_REFUSED: 2,
  SESSION_NOT_FOUND: 3,
  ENTRY_NOT_FOUND: 3,
  EDIT_NOT_FOUND: 3,
  FILE_NOT_FOUND: 3,
  BLOCK_NOT_FOUND: 3,
  PROPOSAL_NOT_FOUND: 3,
  VERSION_NOT_FOUND: 3,
  PERSONA_NOT_FOUND: 3,
  /** `replace`: the pattern is not in view. */
  PATTERN_NOT_FOUND: 3,
  /** `replace`: the match is under 30 characters. */
  MATCH_TOO_SHORT: 4,
  /** `replace`: the pattern occurs several times. */
  MATCH_AMBIGUOUS: 4,
  /** Two edits that are neither disjoint nor nested. */
  EDITS_OVERLAP: 4,
  /** The view that would result breaks a rule of the provider. */
  VIEW_ILLEGAL: 4,
  /** A summary that is no shorter than what it replaces. */
  SUMMARY_TOO_LONG: 4,
  PINNED: 4,
  ALREADY: 4,
  /** The file has changed since it was read or written. */
  FILE_CHANGED: 4,
  /** A memory block with that label already exists. */
  BLOCK_EXISTS: 4,
  /** The block that a proposal changes has been deleted since. */
  BLOCK_DELETED: 4,
  /** A proposal that is already decided. */
  PROPOSAL_NOT_OPEN: 4,
  /** Two changes to the same lines: somebody must choose. */
  CONFLICT: 4,
  /** A body that does not fit the schema of its block. */
  SCHEMA_VIOLATION: 4,
  /** An agent cannot decide, nobody can touch another user's memory, and the server answers only its own pages. */
  FORBIDDEN: 4,
  /** A binary file, or text that is not UTF-8. */
  NOT_TEXT: 5,
  /** A transcript or file in a form that we cannot read. */
  FORMAT_UNKNOWN: 5,
  FORMAT_BROKEN: 5,
  /** The ledger does not verify. */
  LEDGER_CORRUPT: 6,
  /** The database was made by a newer version. */
  LEDGER_NEWER: 6,
  /** Another process holds the database. */
  STORE_LOCKED: 7,
  STORE_READONLY: 7,
  STORE_FULL: 7,
  STORE_FAILED: 7,
  /** The database server does not answer in time. */
  STORE_UNAVAILABLE: 7,
  /** The agent: no model is configured, or the model gave no answer. */
  MODEL_MISSING: 2,
  MODEL_FAILED: 7,
  /** Node too old, a peer dependency missing, … */
  UNSUPPORTED: 8,
  /** The server: no token, or one that is not known. */
  UNAUTHORIZED: 9,
  /** The server: a path that it does not know, or a place in a list that is gone. */
  NOT_FOUND: 3,
  METHOD_NOT_ALLOWED: 2,
  MEDIA_TYPE_UNSUPPORTED: 2,
  /** The server: an idempotency key that came with another request, or whose request is not finished. */
  KEY_REUSED: 2,
  KEY_PENDING: 4,
  /** The server: too many requests, or too much work at once. */
  RATE_LIMITED: 7,
  /** The server is shutting down. */
  CLOSING: 7,
  TOKEN_NOT_FOUND: 3,
  /** A link to decide on proposals that is not ours, or has expired. */
  LINK_INVALID: 4,
} as const

export type ErrorCode = keyof typeof ERROR_CODES

export class PalimpsestError extends Error {
  readonly code: ErrorCode
  readonly data: Record<string, unknown>

  constructor(code: ErrorCode, message: string, data: Record<string, unknown> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'PalimpsestError'
    this.code = code
    this.data = data
  }
}

/** Failures of the disk and of permissions, by the system's code: they are not bugs. */
const SYSTEM: Record<string, [ErrorCode, string]> = {
  ENOSPC: ['STORE_FULL', 'The disk is full. Free some space.'],
  EDQUOT: ['STORE_FULL', 'The disk quota is used up. Free some space.'],
  EROFS: ['STORE_READONLY', 'The file system is read-only.'],
  EACCES: ['STORE_READONLY', 'Permission denied. Check the permissions.'],
  EPERM: ['STORE_READONLY', 'The system does not permit it. Check the permissions.'],
  ENOTDIR: ['STORE_FAILED', 'A part of the path is a file, not a folder.'],
  EISDIR: ['STORE_FAILED', 'It is a folder, not a file.'],
  ENAMETOOLONG: ['STORE_FAILED', 'The path is too long.'],
  EMFILE: ['STORE_FAILED', 'Too many files are open.'],
  EIO: ['STORE_FAILED', 'The disk could not be read or written. Check it.'],
}

/** The error as one of ours if the disk or its permissions are the cause. */
export function ofSystem(error: unknown): unknown {
  if (!(error instanceof Error) || isPalimpsestError(error) || !('code' in error)) return error
  const known = SYSTEM[String(error.code)]
  if (!known) return error
  const path = 'path' in error ? String(error.path) : undefined
  return new PalimpsestError(known[0], path ? `${known[1]} (${path})` : known[1], path ? { path } : {}, error)
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** True for our own errors, from any copy of the package. */
export function isPalimpsestError(error: unknown): error is PalimpsestError {
  return error instanceof Error && error.name === 'PalimpsestError' && 'code' in error
}
