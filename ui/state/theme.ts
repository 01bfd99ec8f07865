import { Store } from './store.ts';

export type Theme = 'system' | 'light' | 'dark';
const key = 'hone.theme';

/** The stored theme. */
function recalled(): Theme {
  try {
    const text = localStorage.getItem(key);
    return text === 'light' || text === 'dark' ? text : 'system';
  } catch {
    return 'system';
  }
}

/** The selected theme, set as an attribute for the style sheet. */
class ThemeStore extends Store<Theme> {
  constructor() {
    super('system');
    this.choose(recalled());
  }

  choose(theme: Theme): void {
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      if (theme === 'system') localStorage.removeItem(key);
      else localStorage.setItem(key, theme);
    } catch {
      // Storage is blocked: the choice is lost when the page is closed.
    }
    this.set(theme);
  }
}

export const theme = new ThemeStore();

const system = matchMedia('(prefers-color-scheme: dark)');
system.addEventListener('change', () => theme.touch());

// Paper is light.
addEventListener('beforeprint', () => {
  document.documentElement.dataset.theme = 'light';
});
addEventListener('afterprint', () => theme.choose(theme.value));
