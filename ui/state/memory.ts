/** What the browser keeps across visits, under this page's own prefix; nothing where storage is blocked. */
const prefix = 'hone.';

export function recall<T>(key: string, fallback: T): T {
  try {
    const text = localStorage.getItem(prefix + key);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

export function remember(key: string, value: unknown): void {
  try {
    localStorage.setItem(prefix + key, JSON.stringify(value));
  } catch {
    // Blocked or full: the page works, it only forgets.
  }
}
