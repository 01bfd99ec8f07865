import { Store } from './store.ts';

export type Theme = 'system' | 'light' | 'dark';
const key = 'hone.theme';

/** The theme that was chosen in an earlier visit. */
function recalled(): Theme {
  try {
    const text = localStorage.getItem(key);
    return text === 'light' || text === 'dark' ? text : 'system';
  } catch {
    return 'system';
  }
}

/** The chosen theme, as an attribute that the style sheet reads. */
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
      // Storage is blocked: the choice holds until the page is closed.
    }
    this.set(theme);
  }
}

export const theme = new ThemeStore();

const system = matchMedia('(prefers-color-scheme: dark)');
system.addEventListener('change', () => theme.touch());
