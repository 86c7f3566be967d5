/** A button. `kind` sets its emphasis; a button with only an icon needs a `label`. */
import type { ButtonHTMLAttributes } from 'react'

export type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  kind?: 'plain' | 'primary' | 'quiet' | 'danger'
  /** For a button without text. */
  label?: string
  small?: boolean
}

export function Button({ kind = 'plain', label, small, className, type = 'button', ...rest }: ButtonProps) {
  const classes = ['button', `button-${kind}`, small && 'button-small', className].filter(Boolean).join(' ')
  return <button type={type} className={classes} aria-label={label} title={label} {...rest} />
}
