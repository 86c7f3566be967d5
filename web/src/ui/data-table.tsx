/** A table in a card; it scrolls sideways if it is wider than the screen. */
import type { ReactNode } from 'react'
import { Info } from './info.tsx'

/** A name, or a name with its column's form; a hidden name is for screen readers. */
export type Head = string | { label: string; number?: boolean; hidden?: boolean; info?: string | undefined }

type DataTableProps = { label: string; heads: readonly Head[]; className?: string; children: ReactNode }

export function DataTable({ label, heads, className = '', children }: DataTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that is scrolled sideways must be reached by the keyboard
    <section className="card data-scroll" aria-label={label} tabIndex={0}>
      <table className={`data-table ${className}`}>
        <thead>
          <tr>
            {heads.map(head => {
              const { label: name, number, hidden, info } = typeof head === 'string' ? { label: head } : head
              return (
                <th key={name} scope="col" className={number ? 'number' : undefined}>
                  {hidden ? <span className="visually-hidden">{name}</span> : name}
                  {info && <Info text={info} />}
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}
