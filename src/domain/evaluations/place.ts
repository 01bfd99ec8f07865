/** What trainings leave free. */
export interface Place {
  /** Devices, or `null` for the whole machine. */
  readonly free: readonly number[] | null;
  /** Variables that say which of them a process may use. */
  readonly environment: (held: readonly number[] | null) => NodeJS.ProcessEnv;
}

/** Whether what an evaluation holds is still free of trainings. */
export function fits(held: readonly number[] | null, place: Place | null): boolean {
  if (place === null) return false;
  return held === null || place.free === null || held.every((device) => place.free?.includes(device));
}
