/** `palimpsest/replay`: what a policy would have sent, and the transcripts of other agents. */
export {
  type ReadOptions,
  readSessions,
  readTranscript,
  readTranscriptStream,
  type SessionRead,
  type Transcript,
  type TranscriptEvent,
  type TranscriptSession,
} from '../../formats/transcripts/read-transcript.ts'
export type { Message } from '../../model/types.ts'
export { type ReplayOptions, type ReplayStep, replay } from '../../replay/replay.ts'
