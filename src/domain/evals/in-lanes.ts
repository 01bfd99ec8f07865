/** The results of `work` for each value, so many at once. The first error ends it. */
export async function inLanes<T, R>(
  values: readonly T[],
  lanes: number,
  work: (value: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let at = 0;
  const lane = async () => {
    while (at < values.length) {
      const place = at++;
      results[place] = await work(values[place] as T).catch((error) => {
        at = values.length;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
