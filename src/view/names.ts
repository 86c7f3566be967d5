/** Names of agents and models in their usual spelling; the recorded names do not change. Pure. */

const AGENTS: Record<string, string> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  pi: 'pi',
  opencode: 'opencode',
  'gemini-cli': 'Gemini CLI',
  'copilot-cli': 'Copilot CLI',
}
const OWN = /^palimpsest:(.+)$/
const DEFAULT_PERSONA = 'default'

/** `codex` is Codex; `palimpsest:reviewer` is our own agent with the persona reviewer. */
export function agentName(client: string): string {
  const persona = OWN.exec(client)?.[1]
  if (persona !== undefined) return persona === DEFAULT_PERSONA ? 'Palimpsest' : `Palimpsest, ${persona}`
  return (Object.hasOwn(AGENTS, client) ? AGENTS[client] : undefined) ?? client
}

/** `claude-opus-4-5-20251101` is opus-4-5, and `openai/gpt-5` is gpt-5. */
export function modelName(model: string): string {
  return model
    .replace(/^(?:[\w.-]+\/)*(?=.)/, '')
    .replace(/^claude-(?=.)/, '')
    .replace(/(?<=.)-20\d{6}$/, '')
}
