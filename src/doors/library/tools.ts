/** `palimpsest/tools`: tools for an agent, and the forms in which SDKs take them. */

export { memoryJournal } from '../../files/journal.ts'
export type { AgentMemory, Memory } from '../../memory/memory.ts'
export { type OpenMemoryOptions, openMemory } from '../../memory/open.ts'
export { memoryTool, textEditorTool } from '../../tools/anthropic.ts'
export { contextTools } from '../../tools/context.ts'
export { fileTools } from '../../tools/files.ts'
export { type MemoryToolContext, memoryTools } from '../../tools/memory.ts'
export type { SessionToolContext } from '../../tools/recall.ts'
export { sessionJournal } from '../../tools/session-journal.ts'
export {
  defineTool,
  runTool,
  type Tool,
  type ToolContext,
  type ToolResult,
  toAiSdkTools,
  toAnthropicTools,
  toMcpTools,
  toOpenAIResponsesTools,
  toOpenAITools,
} from '../../tools/tool.ts'
export { workspaceTools } from '../../tools/workspace.ts'
