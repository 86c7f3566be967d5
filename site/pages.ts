/** The pages of docs/ in the order of the site's menu, by what a reader wants. A test looks that every page is here. */
export const PAGES: Record<string, readonly string[]> = {
  'Your agent': ['index', 'claude-code', 'codex', 'gemini', 'opencode', 'pi', 'qwen', 'always-on', 'plugins', 'web'],
  'What it does': ['example', 'planner', 'policies', 'legality', 'recall', 'memory', 'report', 'replay', 'benchmarks', 'benchmarks-long', 'glossary'],
  Steer: ['config', 'own-policy', 'models', 'cli', 'errors', 'privacy', 'upgrading'],
  'For a team': ['team', 'server', 'scale', 'litellm', 'proxy', 'mcp'],
  Build: ['library', 'messages', 'adapters', 'transcripts', 'tools', 'agent', 'chat'],
  Inside: ['decisions', 'seeds', 'edit-fuzz'],
}

/** The title of a page and its first sentence, from its text. */
export function headOf(text: string): { title: string; first: string } {
  const title = /^# (.+)$/m.exec(text)?.[1] ?? ''
  const paragraphs = text.split(/\n{2,}/).map(part => part.replaceAll('\n', ' ').trim())
  const first = paragraphs.find(part => /^(?!```)[A-Z*`]/.test(part)) ?? ''
  return { title, first: /^.*?[.:](?=\s|$)/.exec(first.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'))?.[0] ?? '' }
}
