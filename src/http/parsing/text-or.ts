import * as v from 'valibot';

/** A text or a list, of which what is wrong is told by its place. */
export function textOr<L extends v.GenericSchema>(list: L, message: string) {
  const either = v.union([v.string(), list], message);
  const run: (typeof either)['~run'] = (dataset, config) =>
    Array.isArray(dataset.value)
      ? (list['~run'](dataset, config) as ReturnType<(typeof either)['~run']>)
      : either['~run'](dataset, config);
  return { ...either, '~run': run };
}
