import * as v from 'valibot';

/** A whole number in a query; `text` describes it. */
export const wholeNumber = (fallback: number, max: number, text: string) =>
  v.pipe(
    v.optional(v.string(), String(fallback)),
    v.description(`${text} Default: ${fallback}.`),
    v.regex(/^\d{1,9}$/, 'must be a whole number'),
    v.transform(Number),
    v.maxValue(max, `must be at most ${max}`),
  );
