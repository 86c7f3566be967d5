/**
 * Untrusted Markdown as React elements: parsed to tokens, never to HTML. HTML in it is shown as text, images are not
 * loaded, and only links to http, https or mail are links, with their address on hover.
 */
import { lexer, type Token, type Tokens } from 'marked'
import { Fragment, type ReactNode, useMemo } from 'react'
import { Named } from './text.tsx'
import { safeHref, visibleText } from './visible.ts'

/** Longer texts are shown as plain text. */
const MOST = 30_000

export function Markdown({ text }: { text: string }) {
  const shown = useMemo(() => visibleText(text.slice(0, MOST)), [text])
  const tokens = useMemo(() => lexer(shown, { gfm: true }), [shown])
  return <div className="markdown">{toNodes(tokens)}</div>
}

function toNodes(tokens: readonly Token[] = []): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: the tokens of one text never move
  return tokens.map((token, i) => <Fragment key={i}>{toNode(token)}</Fragment>)
}

const HEADINGS = ['h3', 'h4', 'h5', 'h6', 'h6', 'h6'] as const

function toNode(token: Token): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'hr':
      return <hr />
    case 'br':
      return <br />
    case 'heading': {
      const Tag = HEADINGS[token['depth'] - 1] ?? 'h6'
      return <Tag>{toNodes(token.tokens)}</Tag>
    }
    case 'paragraph':
      return <p>{toNodes(token.tokens)}</p>
    case 'blockquote':
      return <blockquote>{toNodes(token.tokens)}</blockquote>
    case 'strong':
      return <strong>{toNodes(token.tokens)}</strong>
    case 'em':
      return <em>{toNodes(token.tokens)}</em>
    case 'del':
      return <del>{toNodes(token.tokens)}</del>
    case 'codespan':
      return (
        <code>
          <Named text={token['text']} />
        </code>
      )
    case 'code':
      return (
        <pre>
          <code>
            <Named text={token['text']} />
          </code>
        </pre>
      )
    case 'list':
      return toList(token as Tokens.List)
    case 'table':
      return toTable(token as Tokens.Table)
    case 'link':
      return toLink(token as Tokens.Link)
    case 'image':
      return <span className="markdown-image">[picture: {token['text'] || token['href']}]</span>
    case 'text':
      return token.tokens ? toNodes(token.tokens) : <Named text={token['text']} />
    case 'escape':
      return token['text']
    default:
      return <Named text={token.raw} />
  }
}

function toList({ ordered, start, items }: Tokens.List): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: the items of one list never move
  const content = items.map((item, i) => <li key={i}>{toNodes(item.tokens)}</li>)
  return ordered ? <ol start={Number(start) || 1}>{content}</ol> : <ul>{content}</ul>
}

function toTable({ header, rows }: Tokens.Table): ReactNode {
  /* biome-ignore-start lint/suspicious/noArrayIndexKey: the cells of one table never move */
  return (
    <table>
      <thead>
        <tr>
          {header.map((cell, i) => (
            <th key={i}>{toNodes(cell.tokens)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr key={i}>
            {row.map((cell, j) => (
              <td key={j}>{toNodes(cell.tokens)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
  /* biome-ignore-end lint/suspicious/noArrayIndexKey: the cells of one table never move */
}

function toLink({ href, tokens }: Tokens.Link): ReactNode {
  const safe = safeHref(href)
  if (!safe) return <span title={href}>{toNodes(tokens)}</span>
  return (
    <a href={safe} title={safe} target="_blank" rel="noopener noreferrer">
      {toNodes(tokens)}
    </a>
  )
}
