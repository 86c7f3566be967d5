/**
 * The current place in the UI. Pages are addressed after `#`, because the paths of the server belong to the API.
 *
 * `#/sessions/my%20session/compare?policy=thrifty` is the path ['sessions', 'my session', 'compare'] with a query.
 */
import { useSyncExternalStore } from 'react'

export type Route = { path: string[]; query: URLSearchParams }

export function parseHash(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  return { path: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query) }
}

/** The address of a page, for links: `hrefOf('sessions', name)`. */
export function hrefOf(...path: string[]): string {
  return `#/${path.map(encodeURIComponent).join('/')}`
}

export function navigate(href: string): void {
  location.hash = href
}

/** Changes the query of the current page without a new entry in the history. */
export function replaceQuery(change: Record<string, string | undefined>): void {
  const { path, query } = parseHash(location.hash)
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  history.replaceState(null, '', `${hrefOf(...path)}${text && `?${text}`}`)
  dispatchEvent(new HashChangeEvent('hashchange'))
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  return parseHash(hash)
}

function subscribe(changed: () => void): () => void {
  addEventListener('hashchange', changed)
  return () => removeEventListener('hashchange', changed)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // An invalid percent escape: use the text unchanged.
    return text
  }
}
