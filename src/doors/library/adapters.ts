/** `palimpsest/adapters`: converts messages from and to the forms of providers. */
export {
  type AnthropicMessage,
  type AnthropicPrompt,
  fromAnthropic,
  toAnthropic,
} from '../../formats/adapters/anthropic.ts'
export { fromGemini, type GeminiContent, type GeminiPrompt, toGemini } from '../../formats/adapters/gemini.ts'
export { fromOpenAIChat, type OpenAIChatMessage, toOpenAIChat } from '../../formats/adapters/openai-chat.ts'
export {
  fromOpenAIResponses,
  type OpenAIResponsesItem,
  type OpenAIResponsesPrompt,
  toOpenAIResponses,
} from '../../formats/adapters/openai-responses.ts'
export type { Message } from '../../model/types.ts'
