import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Job, JobPage } from '../../api/types.ts';
import { asServiceError, type Remote } from '../remote.ts';
import { Store } from '../store.ts';

/** What runs are searched by; an empty text is no filter. */
export interface RunFilter {
  readonly search: string;
  readonly state: string;
  readonly model_name: string;
  readonly dataset: string;
  readonly tag: string;
}

export interface FoundRuns {
  readonly runs: readonly Job[];
  /** How many there are; `null` until the first answer. */
  readonly total: number | null;
  readonly error: ServiceError | null;
  /** Whether older ones are on their way. */
  readonly isReading: boolean;
}

/** How many runs are read first, and then at a time. */
const firstPage = 50;
const nextPage = 200;
/** The service's limit. */
const largestPage = 1_000;

/** The runs that a filter has, found by the service, the newest first, as far as they were asked for. */
export class RunSearch extends Store<FoundRuns> {
  #filter: RunFilter | null = null;
  #asking: AbortController | null = null;

  readonly #newest: Remote<JobPage>;

  /** @param newest the newest runs, which the pages share; without a filter, the first of these are shown. */
  constructor(newest: Remote<JobPage>) {
    super({ runs: [], total: null, error: null, isReading: false });
    this.#newest = newest;
  }

  /** Finds the runs of a filter, unless it is the current one. */
  find(filter: RunFilter): void {
    if (JSON.stringify(filter) === JSON.stringify(this.#filter)) return;
    this.#filter = filter;
    this.#show(firstPage);
  }

  #show(count: number): void {
    const { value, error } = this.#newest.value;
    const isFiltered = Object.values(this.#filter ?? {}).some((text) => text !== '');
    if (isFiltered || (value !== null && count > value.jobs.length && value.jobs.length < value.total)) {
      void this.#read(count, false);
      return;
    }
    this.#abort();
    if (value !== null) {
      const runs = value.jobs.slice(0, count);
      this.set({ runs, total: value.total, error: null, isReading: false });
    } else if (error !== null) {
      this.set({ ...this.value, error, isReading: false });
    }
  }

  /** Reads as many again as are shown. */
  refresh(): void {
    if (this.#filter !== null) this.#show(Math.max(firstPage, this.value.runs.length));
  }

  /** Reads older ones. */
  more(): void {
    if (this.#asking === null) void this.#read(nextPage, true);
  }

  /** Ends what is being read. */
  stop(): void {
    this.#abort();
    this.#filter = null;
  }

  #abort(): void {
    this.#asking?.abort();
    this.#asking = null;
  }

  async #read(count: number, older: boolean): Promise<void> {
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const known = older ? this.value.runs : [];
    // A search is not told of: drawing the same rows again would only delay the found ones.
    if (older) this.set({ ...this.value, isReading: true });
    const filled = Object.fromEntries(Object.entries(this.#filter ?? {}).filter(([, text]) => text !== ''));
    try {
      const found: Job[] = [...known];
      let total = 0;
      do {
        const limit = Math.min(count - (found.length - known.length), largestPage);
        const page = await service.jobs({ ...filled, limit, offset: found.length }, asking.signal);
        total = page.total;
        if (page.jobs.length === 0) break;
        // A run that was started in between has shifted the others.
        const seen = new Set(found.map(({ job_id }) => job_id));
        found.push(...page.jobs.filter(({ job_id }) => !seen.has(job_id)));
      } while (found.length - known.length < count && found.length < total);
      this.#answer(asking, { runs: found, total, error: null, isReading: false });
    } catch (error) {
      this.#answer(asking, { ...this.value, error: asServiceError(error), isReading: false });
    }
  }

  /** Takes what was read, unless something else has been asked for since. */
  #answer(asking: AbortController, found: FoundRuns): void {
    if (asking !== this.#asking) return;
    this.#asking = null;
    this.set(found);
  }
}
