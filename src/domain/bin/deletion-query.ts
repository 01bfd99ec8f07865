import * as v from 'valibot';

/** The query of a route that deletes. */
export const deletionQuery = v.object({
  /** Whether it is deleted for good instead of kept in the bin. */
  permanently: v.optional(
    v.pipe(
      v.picklist(['true', 'false'], 'must be true or false'),
      v.transform((text) => text === 'true'),
    ),
    'false',
  ),
});
