import type { Item } from './items.ts';

/** A response with what it answered: the items of its input, and of the responses before it. */
export interface StoredResponse<R> {
  readonly response: R;
  readonly input: readonly Item[];
}

/** Responses for later requests, each found by its owner alone. They are in memory, and gone with the process. */
export interface StoredResponses<R> {
  put(owner: string, stored: StoredResponse<R>): void;
  get(owner: string, id: string): StoredResponse<R> | null;
  /** Whether there was such a response. */
  remove(owner: string, id: string): boolean;
  /** The items with these IDs, of requests and of answers. */
  items(owner: string, ids: ReadonlySet<string>): ReadonlyMap<string, Item>;
}

const day = 86_400_000;
const bounds = { responses: 1000, bytes: 2 ** 26, ms: 30 * day };

/**
 * The oldest responses go when there are too many, or too large ones.
 * @param now in milliseconds, of any origin.
 */
export function createStoredResponses<R extends { readonly id: string; readonly output: readonly Item[] }>(
  limits = bounds,
  now: () => number = () => performance.now(),
): StoredResponses<R> {
  const kept = new Map<
    string,
    {
      readonly owner: string;
      readonly stored: StoredResponse<R>;
      readonly bytes: number;
      readonly at: number;
    }
  >();
  let bytes = 0;

  function drop(id: string): void {
    bytes -= kept.get(id)?.bytes ?? 0;
    kept.delete(id);
  }

  /** They are in the order of their times. */
  function sweep(): void {
    for (const [id, { at }] of kept) {
      if (kept.size <= limits.responses && bytes <= limits.bytes && now() - at < limits.ms) break;
      drop(id);
    }
  }

  function find(owner: string, id: string): StoredResponse<R> | null {
    sweep();
    const found = kept.get(id);
    return found?.owner === owner ? found.stored : null;
  }

  return {
    put(owner, stored) {
      const size = Buffer.byteLength(JSON.stringify(stored));
      kept.set(stored.response.id, { owner, stored, bytes: size, at: now() });
      bytes += size;
      sweep();
    },
    get: find,
    remove(owner, id) {
      if (find(owner, id) === null) return false;
      drop(id);
      return true;
    },
    items(owner, ids) {
      sweep();
      const found = new Map<string, Item>();
      if (ids.size === 0) return found;
      for (const { owner: whose, stored } of kept.values()) {
        if (whose !== owner) continue;
        for (const one of [...stored.input, ...stored.response.output])
          if (ids.has(one.id)) found.set(one.id, one);
      }
      return found;
    },
  };
}
