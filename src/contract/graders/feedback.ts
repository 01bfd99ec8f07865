/** What people say of an answer. */
export const ratings = ['up', 'down'] as const;
export type Rating = (typeof ratings)[number];
