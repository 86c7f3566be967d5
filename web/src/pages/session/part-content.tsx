/** The content of one part, by its type. All content is untrusted: text stays text, and no address is loaded. */
import { headOf } from '../../../../src/model/text.ts'
import type { Part } from '../../api-types.ts'
import { Markdown } from '../../ui/markdown.tsx'
import { Text } from '../../ui/text.tsx'

/** Longer texts are shown as plain text. */
const MOST_MARKDOWN = 4000

type PartContentProps = { part: Part; role: string; marks: readonly string[] }

export function PartContent({ part, role, marks }: PartContentProps) {
  switch (part.type) {
    case 'text':
      return role === 'assistant' && part.text.length <= MOST_MARKDOWN && marks.length === 0 ? (
        <Markdown text={part.text} />
      ) : (
        <Text text={part.text} marks={marks} />
      )
    case 'reasoning':
      return <Text text={part.text || 'The provider does not show this reasoning.'} marks={marks} />
    case 'tool-call':
      return <Input input={part.input} marks={marks} />
    case 'tool-result':
      return typeof part.output === 'string' ? (
        <Text text={part.output} code marks={marks} />
      ) : (
        part.output.map((inner, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a result never move
          <PartContent key={i} part={inner} role={role} marks={marks} />
        ))
      )
    case 'image':
      return <Picture mediaType={part.mediaType} data={part.data} url={part.url} />
    case 'raw':
      return <Text text={JSON.stringify(part.value, undefined, 2) ?? ''} code marks={marks} />
  }
}

/** The arguments of a call, each with its name. */
function Input({ input, marks }: { input: unknown; marks: readonly string[] }) {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) {
    return <Text text={typeof input === 'string' ? input : toJson(input)} code marks={marks} />
  }
  return (
    <dl className="arguments">
      {Object.entries(input).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Text text={typeof value === 'string' ? value : toJson(value)} code marks={marks} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

function Picture({ mediaType, data, url }: { mediaType: string; data?: string | undefined; url?: string | undefined }) {
  if (data !== undefined && PICTURES.includes(mediaType)) {
    return <img className="picture" src={`data:${mediaType};base64,${data}`} alt="From the conversation" />
  }
  return <Text text={`[${mediaType}${url ? ` at ${headOf(url, 200)}` : ''}]`} />
}

function toJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2) ?? ''
}
