/** A JSON text as a value, or `fallback` if it is none. */
export function parseOr<T>(line: string, fallback: T): unknown | T {
  try {
    return JSON.parse(line);
  } catch {
    return fallback;
  }
}
