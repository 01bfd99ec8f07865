/** What a browser gives to a page's modules, so that those that draw nothing can be tested without one. Import it first. */

/** The texts that the page keeps in the browser's storage. */
export const stored = new Map<string, string>();

const values: Record<string, unknown> = {
  location: new URL('http://127.0.0.1/'),
  history: { pushState: () => undefined, replaceState: () => undefined },
  document: Object.assign(new EventTarget(), {
    visibilityState: 'visible',
    // lit makes one when it is loaded.
    createTreeWalker: () => ({}),
  }),
  localStorage: {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  },
  addEventListener: () => undefined,
  scrollTo: () => undefined,
};
for (const [name, value] of Object.entries(values))
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });

/** A request of the page: its method, its path, and the body. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: Record<string, unknown>;
}

/** Answers the page's requests instead of the service: with JSON, or with the status of an error. */
export function answerWith(answer: (asked: Asked) => unknown): void {
  globalThis.fetch = async (path, { method = 'GET', body } = {}) => {
    const told = answer({ method, path: String(path), body: body ? JSON.parse(String(body)) : {} });
    return typeof told === 'number' ? new Response('{}', { status: told }) : Response.json(told);
  };
}
