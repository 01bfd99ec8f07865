/** Values in the browser's storage, under the page's own prefix; empty if storage is blocked. */
const prefix = 'hone.';

/** `local` is kept; `session` belongs to a tab, and ends with it. */
type Kind = 'local' | 'session';
const storage = (kind: Kind): Storage => (kind === 'local' ? localStorage : sessionStorage);

export function readStored<T>(key: string, fallback: T, kind: Kind = 'local'): T {
  try {
    const text = storage(kind).getItem(prefix + key);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

export function writeStored(key: string, value: unknown, kind: Kind = 'local'): void {
  try {
    storage(kind).setItem(prefix + key, JSON.stringify(value));
  } catch {
    // Storage is blocked or full: values are not kept.
  }
}
