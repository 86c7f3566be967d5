/** The public surface of the library. Everything else may change without notice. */
export type { ContextRequest, ContextTarget, ReplaceOperation } from './context-edits.ts'
export { type Diagnosis, diagnose, heal } from './doctor.ts'
export {
  type About,
  type OpenOptions,
  openPalimpsest,
  Palimpsest,
  type PalimpsestOptions,
  type SessionInfo,
} from './engine.ts'
export { ERROR_CODES, type ErrorCode, isPalimpsestError, PalimpsestError } from './errors.ts'
export type { Change, FileState } from './file-history.ts'
export { SqliteLedger } from './ledger/sqlite.ts'
export type { LedgerStore } from './ledger/store.ts'
export { checkView, RULES, type Rule, type Violation } from './legality.ts'
export { type Model, modelInfo, PRICES_AS_OF } from './prices.ts'
export type { EditResult, PartInfo, RecallHit, Restored, Session } from './session.ts'
export type { View } from './session-view.ts'
export type { Suggestion } from './suggest.ts'
export { type CallInfo, defineTools, describeCall, type ToolTable } from './tool-kinds.ts'
export type * from './types.ts'
