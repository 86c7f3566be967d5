/**
 * Texts under paths, as the workspace and the files beside the ledger are kept: in a folder, or in a table that several
 * servers share. Every implementation passes test/contracts/file-store.ts.
 *
 * A text is always an old or a new version, never a mix, and no change that was acknowledged is lost to another one.
 * The version of a text is its SHA-256, so a caller who has the version that is there also knows the text.
 */
export interface FileStore {
  /** The folder that people and models name them by. In a table nothing lies there: only our tools reach them. */
  readonly folder: string
  readonly isTable: boolean
  /** Undefined where there is no such file. */
  read(path: string): Promise<StoredFile | undefined>
  /**
   * Puts what `change` makes of a text in its place (null means no file, in and out).
   * Contract: `change` is called again when somebody else was faster; what it throws is passed on, nothing is done.
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
  /** Those of a user, or of the home itself; all of them, or their workspace. */
  of(user: string | undefined, part?: 'workspace'): FileStore
  /** The users who have files, by name. */
  users(): Promise<string[]>
  /** Removes everything of a user for good. */
  forget(user: string): Promise<void>
  close(): Promise<void>
}
