import { AppError } from '../../errors.ts';

/** A page of a list, as OpenAI's reference has it. */
export function pageOf<T extends { readonly id: string }>(data: readonly T[], hasMore: boolean) {
  return {
    object: 'list' as const,
    data: [...data],
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

/** The error for a cursor that names nothing. */
export function badCursor(after: string): AppError {
  const msg = `Field "after": there is no item "${after.slice(0, 100)}" in this list; use the ID of the last item of the page before`;
  return new AppError('invalid', msg, {
    issues: [{ loc: ['query', 'after'], msg, type: 'value_error' }],
  });
}

/** A time in Unix seconds. */
export const unixSeconds = (time: string): number => Math.floor(Date.parse(time) / 1000);
