/** An edit before it is made: what a policy proposes, and what must be kept or written with it. */
import type { Edit } from '../model/types.ts'

/** A file in the home; the path is relative to it. */
type KeptFile = { path: string; text: string }

/** An edit that a policy would like; the engine gives it an id and counts what it saves. */
export type Proposal = Pick<Edit, 'target' | 'replacement' | 'why' | 'mark'> & {
  policy: string
  /** A file that must be kept before the edit may point to it. */
  file?: KeptFile
  /** The first message of the replacement is a summary: the engine may have a model write a better one. */
  summary?: { goal: string }
  /** Files that are kept when the edit is made. Failing is reported, and stops nothing. */
  also?: KeptFile[]
  /** A line for the daily log of the workspace. */
  log?: string
}

/** An edit that is asked for, without what the engine gives it. */
export type EditRequest = Pick<Edit, 'target' | 'replacement' | 'by' | 'why' | 'mark'>

export function toEdit({ policy, target, replacement, why, mark }: Proposal): EditRequest {
  return { target, replacement, why, by: `policy:${policy}`, ...(mark ? { mark } : {}) }
}
