/** `palimpsest`: open a home, hold sessions, heal conversations. What is not exported may change without notice. */
export type { EditOperation, ReplaceOperation } from './asked/context-edits.ts'
export type { Suggestion } from './asked/suggest.ts'
export type { Change, FileState } from './calls/file-history.ts'
export { defineTools, type ToolTable } from './calls/tool-kinds.ts'
export { heal } from './formats/doctor.ts'
export type { LedgerStore } from './ledger/store.ts'
export { type ErrorCode, isPalimpsestError, PalimpsestError } from './model/errors.ts'
export type {
  Author,
  Dialect,
  Edit,
  Event,
  ImagePart,
  Message,
  Part,
  RawPart,
  ReasoningPart,
  Replacement,
  Role,
  Target,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Usage,
} from './model/types.ts'
export { thrifty } from './planner/thrifty.ts'
export type { ThriftyOptions } from './planner/tuning.ts'
export type { PlannerFactory, Policy } from './policies/policy.ts'
export type { Model, ModelTable } from './providers/models.ts'
export type { Config } from './session/config.ts'
export {
  type OpenOptions,
  openPalimpsest,
  type Palimpsest,
  type PalimpsestOptions,
  type SessionInfo,
} from './session/engine.ts'
export type { PartInfo, Restored } from './session/look.ts'
export type { Nearby, RecallHit, RecallOptions } from './session/recall.ts'
export type { EditResult, Session } from './session/session.ts'
export type { View } from './session/session-view.ts'
export { checkView, type Violation } from './view/legality.ts'
