import type { EvalPage } from '../../../domain/evals/evals.ts';
import { badCursor, pageOf } from '../page.ts';

interface Query {
  readonly after?: string | undefined;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  readonly status?: string | undefined;
}

/** A page ends before it is longer: runs have all of their rows. */
const mostBytes = 2 ** 24;

/** What is asked of the store, one more than fits, to know whether there is more. */
export const pageAsked = ({ after, limit, order, status }: Query): EvalPage => ({
  after: after ?? null,
  limit: limit + 1,
  order,
  status,
});

/** The page of what was found. @throws AppError `invalid` if there is no item after which it can begin. */
export function evalPage<T extends { readonly id: string }>(
  { after, limit }: Query,
  found: readonly T[] | null,
) {
  if (found === null) throw badCursor(after ?? '');
  let bytes = 0;
  const data = found.slice(0, limit).filter((one, at) => {
    bytes += JSON.stringify(one).length;
    return at === 0 || bytes <= mostBytes;
  });
  return pageOf(data, data.length < found.length);
}
