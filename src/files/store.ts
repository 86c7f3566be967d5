/**
 * Texts under paths, for the workspace and the files beside the ledger: in a folder, or in a table that several
 * servers share. Every implementation passes test/contracts/file-store.ts.
 *
 * A text is always an old or a new version, never a mix, and no acknowledged change is lost to another one. The
 * version of a text is its SHA-256, so a caller who has the present version also knows the text.
 */
export interface FileStore {
  /** The folder in the paths that people and models use. For a table, nothing is in it on disk. */
  readonly folder: string
  readonly isTable: boolean
  /** Undefined if there is no such file. */
  read(path: string): Promise<StoredFile | undefined>
  /**
   * Replaces a text with the result of `change` (null means no file, in and out). Contract: `change` is called again
   * if somebody else was faster. If it throws, the error is passed on and nothing is changed.
   */
  change(path: string, change: ChangeText): Promise<ChangedText>
  /** The paths below a folder, at most three levels deep, by name. */
  list(below?: string): Promise<string[]>
}

export type StoredFile = { text: string; version: string }
export type ChangeText = (now: string | null) => string | null | Promise<string | null>
export type ChangedText = { before: string | null; after: string | null }

/** A store, or the path of a folder that is one. */
export type Files = string | FileStore

/** Where files are kept beside the ledger of a home. */
export interface HomeFiles {
  readonly isTable: boolean
  /** The files of a user, or of the home itself: all of them, or only the workspace. */
  of(user: string | undefined, part?: 'workspace'): FileStore
  /** The users who have files, by name. */
  users(): Promise<string[]>
  /** Removes everything of a user for good. */
  forget(user: string): Promise<void>
  close(): Promise<void>
}
