/**
 * The files that belong to edits. A file that an edit points to is written before the edit is made, or the edit is not
 * made; archives and the daily log are written as well. A file that cannot be written is reported, and nothing is lost.
 */
import { type Violation, violation } from '../view/legality.ts'
import type { Proposal } from '../view/proposal.ts'

export type KeepFile = (path: string, text: string) => Promise<void>

/** Writes the files of proposals; returns the proposals except those whose file could not be written. */
export async function keepFiles(
  proposals: readonly Proposal[],
  keepFile: KeepFile,
  report: Violation[],
): Promise<Proposal[]> {
  const kept: Proposal[] = []
  for (const proposal of proposals) {
    const { file } = proposal
    try {
      if (file) await keepFile(file.path, file.text)
      kept.push(proposal)
    } catch (error) {
      report.push(
        violation('file-not-kept', `${file?.path} cannot be written, so the result is shown in full: ${error}`),
      )
    }
  }
  return kept
}

/** Writes the archives, and the lines of the daily log, for edits that were made. */
export async function keepRecords(
  proposals: readonly Proposal[],
  { archive, log }: { archive?: KeepFile; log?: (line: string) => Promise<void> },
  report: Violation[],
): Promise<void> {
  const missed = (what: string) => (error: unknown) => {
    report.push(violation('file-not-kept', `${what} cannot be written: ${error}`))
  }
  for (const { also = [], log: line } of proposals) {
    for (const { path, text } of archive ? also : []) await archive?.(path, text).catch(missed(path))
    if (line !== undefined) await log?.(line).catch(missed('the daily log'))
  }
}
