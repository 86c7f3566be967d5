/** An edit before it is made: the proposal of a policy, and the files to keep or write with it. */
import type { Edit } from '../model/types.ts'

/** A file in the home; the path is relative to the home. */
type KeptFile = { path: string; text: string }

/** An edit that a policy proposes; the engine gives it an id and counts its savings. */
export type Proposal = Pick<Edit, 'target' | 'replacement' | 'why' | 'mark'> & {
  policy: string
  /** A file that must be written before the edit may point to it. */
  file?: KeptFile
  /** The first message of the replacement is a summary: the engine may have a model write a better one. */
  summary?: { goal: string }
  /** Files to write when the edit is made. A failure is reported and stops nothing. */
  also?: KeptFile[]
  /** A line for the daily log of the workspace. */
  log?: string
}

/** A requested edit, without the fields that the engine adds. */
export type EditRequest = Pick<Edit, 'target' | 'replacement' | 'by' | 'why' | 'mark'>

export function toEdit({ policy, target, replacement, why, mark }: Proposal): EditRequest {
  return { target, replacement, why, by: `policy:${policy}`, ...(mark ? { mark } : {}) }
}
