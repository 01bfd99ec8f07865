/** Runs works that share a name one after another, in the order of the calls; a work must not wait for another one. */
export type InTurn = <T>(names: readonly string[], work: () => Promise<T>) => Promise<T>;

export function createInTurn(): InTurn {
  /** The latest work of each name. */
  const latest = new Map<string, Promise<unknown>>();
  return (names, work) => {
    const earlier = Promise.allSettled(names.map((name) => latest.get(name)));
    const done = earlier.then(work);
    for (const name of names) latest.set(name, done);
    const forget = () => {
      for (const name of names) if (latest.get(name) === done) latest.delete(name);
    };
    done.then(forget, forget);
    return done;
  };
}
