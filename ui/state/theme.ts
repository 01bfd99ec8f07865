import { Store } from './store.ts';

export type Theme = 'system' | 'light' | 'dark';
const key = 'hone.theme';

/** The chosen theme. Kept as plain text, since `theme.js` reads it before anything else runs. */
class ThemeStore extends Store<Theme> {
  choose(theme: Theme): void {
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      if (theme === 'system') localStorage.removeItem(key);
      else localStorage.setItem(key, theme);
    } catch {
      // Storage is blocked: the choice holds until the page is closed.
    }
    this.set(theme);
  }
}

const chosen = document.documentElement.dataset.theme;
export const theme = new ThemeStore(chosen === 'light' || chosen === 'dark' ? chosen : 'system');

const system = matchMedia('(prefers-color-scheme: dark)');
system.addEventListener('change', () => theme.touch());
