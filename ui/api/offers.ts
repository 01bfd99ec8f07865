import { request } from './request.ts';

/** What the service offers, read once from its own description; the page hides the rest. */
export class Offers {
  readonly #operations: ReadonlySet<string>;

  constructor(operations: ReadonlySet<string>) {
    this.#operations = operations;
  }

  /** @param operation method and path as in the route table, such as `POST /api/estimate`. */
  has(operation: string): boolean {
    return this.#operations.has(operation);
  }
}

/** Before the description is read, nothing beyond the specification is taken for granted. */
export const noOffers = new Offers(new Set());

export async function readOffers(): Promise<Offers> {
  const { paths } = await request<{ paths: Record<string, Record<string, unknown>> }>('/api/openapi.json');
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  return new Offers(new Set(operations));
}
