/** What people say of an answer. */
export const ratings = ['up', 'down'] as const;
export type Rating = (typeof ratings)[number];

/** Which answers a filter by what was said of them keeps: `any` those with a rating, `none` those without. */
export const ratingFilters = [...ratings, 'any', 'none', 'corrected'] as const;
export type RatingFilter = (typeof ratingFilters)[number];
/** What a refusal says of another one. */
export const ratingFilterRule = 'must be up, down, any, none or corrected';
