import * as v from 'valibot';
import { identityBounds, linePattern, notesPattern, tagPattern } from '../../contract/identity.ts';
import type { IdentityChange } from '../../domain/job-record/identity.ts';
import { about } from '../../http/openapi.ts';

const line = 'must be one line without control characters';
const atMost = (count: number) => `must have at most ${count} characters`;

/** What people call a run or a model, in answers. */
export const identity = {
  display_name: v.string(),
  notes: v.string(),
  tags: v.array(v.string()),
};

const tag = v.pipe(
  v.string(),
  v.maxLength(identityBounds.tag, atMost(identityBounds.tag)),
  v.regex(tagPattern, `${line} and without commas`),
  v.trim(),
  v.minLength(1, 'must not be empty'),
);

/** A change: what is absent stays. */
export const identityBody = v.strictObject({
  /** `null` for the default name: dataset, epochs and learning rate. */
  display_name: v.optional(
    v.nullable(
      v.pipe(
        v.string(),
        v.maxLength(identityBounds.displayName, atMost(identityBounds.displayName)),
        v.regex(linePattern, line),
        v.trim(),
        v.minLength(1, 'must not be empty; null is the default name'),
      ),
    ),
  ),
  notes: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(identityBounds.notes, atMost(identityBounds.notes)),
      v.regex(notesPattern, 'must have no control characters except tabs and line breaks'),
    ),
  ),
  tags: v.optional(
    v.pipe(
      v.array(tag),
      v.maxLength(identityBounds.tags, `must be at most ${identityBounds.tags} tags`),
      v.check((tags) => new Set(tags).size === tags.length, 'must not have the same tag twice'),
    ),
  ),
});
export const identityExample = {
  display_name: 'Replies of October',
  notes: 'Shorter answers than before.',
  tags: ['support', 'candidate'],
};

export const readIdentity = ({
  display_name,
  ...rest
}: v.InferOutput<typeof identityBody>): IdentityChange => ({ displayName: display_name, ...rest });

/** Filters of the lists of runs and models. */
export const searchQuery = v.object({
  search: about(
    v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(200, atMost(200)))),
    'Words that are all in the name, notes, tags, model or dataset.',
  ),
  tag: about(
    v.optional(
      v.pipe(
        v.string(),
        v.minLength(1, 'must not be empty'),
        v.maxLength(1000, atMost(1000)),
        v.transform((text) => text.split(',')),
      ),
    ),
    'One tag, or several separated by commas, all of which it has.',
  ),
});

const facet = v.array(v.object({ value: v.string(), count: v.number() }));
/** At most 200 values of each kind. */
export const facets = v.object({ tags: facet, models: facet, datasets: facet });
export type Facets = v.InferOutput<typeof facets>;
