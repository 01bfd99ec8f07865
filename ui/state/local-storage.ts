/** Values in local storage, under the page's own prefix; empty if storage is blocked. */
const prefix = 'hone.';

export function readStored<T>(key: string, fallback: T): T {
  try {
    const text = localStorage.getItem(prefix + key);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

export function writeStored(key: string, value: unknown): void {
  try {
    localStorage.setItem(prefix + key, JSON.stringify(value));
  } catch {
    // Storage is blocked or full: values are not kept.
  }
}
