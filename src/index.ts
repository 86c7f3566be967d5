/** The public surface of the library. Everything else may change without notice. */
export type { EditOperation, ReplaceOperation } from './asked/context-edits.ts'
export type { Suggestion } from './asked/suggest.ts'
export type { Change, FileState } from './calls/file-history.ts'
export { type CallInfo, defineTools, describeCall, type ToolTable } from './calls/tool-kinds.ts'
export { type Diagnosis, diagnose, heal } from './formats/doctor.ts'
export { SqliteLedger } from './ledger/sqlite.ts'
export type { LedgerStore } from './ledger/store.ts'
export { ERROR_CODES, type ErrorCode, isPalimpsestError, PalimpsestError } from './model/errors.ts'
export type * from './model/types.ts'
export { thrifty } from './planner/thrifty.ts'
export { type Model, type ModelTable, modelInfo, PRICES_AS_OF } from './providers/models.ts'
export {
  type About,
  type OpenOptions,
  openPalimpsest,
  Palimpsest,
  type PalimpsestOptions,
  type SessionInfo,
} from './session/engine.ts'
export type { Nearby, RecallHit, RecallOptions } from './session/recall.ts'
export type { EditResult, PartInfo, Restored, Session } from './session/session.ts'
export type { View } from './session/session-view.ts'
export { checkView, RULES, type Rule, type Violation } from './view/legality.ts'
