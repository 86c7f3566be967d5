/** Light or dark: the setting of the system, unless the user chose one, which is stored in this browser. */

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'palimpsest.theme'
const THEMES: readonly Theme[] = ['system', 'light', 'dark']

export function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY)
  return THEMES.find(theme => theme === stored) ?? 'system'
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') document.documentElement.removeAttribute('data-theme')
  else document.documentElement.setAttribute('data-theme', theme)
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  applyTheme(theme)
}

export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!
}
