import * as v from 'valibot';

/** The query of a route that deletes. */
export const deletionQuery = v.object({
  /**
   * Whether it is deleted for good instead of kept in the bin. `false` refuses with 507 what the bin cannot keep, which is
   * otherwise deleted for good.
   */
  permanently: v.optional(
    v.pipe(
      v.picklist(['true', 'false'], 'must be true or false'),
      v.transform((text) => text === 'true'),
    ),
  ),
});
