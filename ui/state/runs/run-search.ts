import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Job, JobPage } from '../../api/types.ts';
import { asServiceError, type Remote } from '../remote.ts';
import { Store } from '../store.ts';

/** What runs are searched and ordered by; an empty text is no filter, and the newest first. */
export interface RunFilter {
  readonly search: string;
  readonly state: string;
  readonly model_name: string;
  readonly dataset: string;
  readonly tag: string;
  readonly sort: string;
}

export interface FoundRuns {
  /** The first trial of a sweep stands for the others. */
  readonly runs: readonly Job[];
  /** How many trials such a run stands for, itself included, by its ID. */
  readonly folded: Readonly<Record<string, number>>;
  /** All trials of the sweeps that are unfolded, by sweep. */
  readonly unfolded: ReadonlyMap<string, readonly Job[]>;
  /** How many there are; `null` until the first answer. */
  readonly total: number | null;
  readonly error: ServiceError | null;
  /** Whether more are on their way. */
  readonly isReading: boolean;
}

/** How many runs are read first and then at a time: more would be seen to stop the scrolling when they are drawn. */
const pageRuns = 50;
/** The service's limit. */
const largestPage = 1_000;

/** The runs that a filter has, found and ordered by the service, as far as they were asked for. */
export class RunSearch extends Store<FoundRuns> {
  #filter: RunFilter | null = null;
  #asking: AbortController | null = null;
  readonly #unfolded = new Set<string>();

  readonly #newest: Remote<JobPage>;

  /** @param newest the newest runs, which the pages share: shown if they are all there are, and none is of a sweep. */
  constructor(newest: Remote<JobPage>) {
    super({ runs: [], folded: {}, unfolded: new Map(), total: null, error: null, isReading: false });
    this.#newest = newest;
  }

  /** Finds the runs of a filter, unless it is the current one. */
  find(filter: RunFilter): void {
    if (JSON.stringify(filter) === JSON.stringify(this.#filter)) return;
    this.#filter = filter;
    this.#show(pageRuns);
  }

  #show(count: number): void {
    const { value, error } = this.#newest.value;
    const isFiltered = Object.values(this.#filter ?? {}).some((text) => text !== '');
    const areAll =
      value?.total === value?.jobs.length && !value?.jobs.some(({ sweep_id }) => sweep_id !== null);
    if (isFiltered || (value !== null && !areAll)) {
      void this.#read(count, false);
      return;
    }
    this.#abort();
    if (value !== null) {
      const { jobs: runs, total } = value;
      this.set({ runs, folded: {}, unfolded: new Map(), total, error: null, isReading: false });
    } else if (error !== null) {
      this.set({ ...this.value, error, isReading: false });
    }
  }

  /** Reads as many again as are shown. */
  refresh(): void {
    if (this.#filter !== null) this.#show(Math.max(pageRuns, this.value.runs.length));
  }

  /** Reads the next ones. */
  more(): void {
    if (this.#asking === null) void this.#read(pageRuns, true);
  }

  /** Shows all trials of a sweep, or again the one that stands for them. */
  unfold(sweepId: string, on: boolean): void {
    if (on) {
      this.#unfolded.add(sweepId);
      this.refresh();
      return;
    }
    this.#unfolded.delete(sweepId);
    const unfolded = [...this.value.unfolded].filter(([id]) => id !== sweepId);
    this.set({ ...this.value, unfolded: new Map(unfolded) });
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

  async #read(count: number, isMore: boolean): Promise<void> {
    this.#asking?.abort();
    const asking = new AbortController();
    const { signal } = asking;
    this.#asking = asking;
    const known = isMore ? this.value.runs : [];
    // A search is not told of: drawing the same rows again would only delay the found ones.
    if (isMore) this.set({ ...this.value, isReading: true });
    const filled = Object.fromEntries(Object.entries(this.#filter ?? {}).filter(([, text]) => text !== ''));
    try {
      const found: Job[] = [...known];
      let folded = isMore ? this.value.folded : {};
      let total = 0;
      do {
        const limit = Math.min(count - (found.length - known.length), largestPage);
        const page = await service.jobs({ ...filled, trials: 'folded', limit, offset: found.length }, signal);
        total = page.total;
        folded = { ...folded, ...page.folded };
        if (page.jobs.length === 0) break;
        // A run that was started in between has shifted the others.
        const seen = new Set(found.map(({ job_id }) => job_id));
        found.push(...page.jobs.filter(({ job_id }) => !seen.has(job_id)));
      } while (found.length - known.length < count && found.length < total);
      const trials = [...this.#unfolded].map(async (sweep) => {
        const { jobs } = await service.jobs({ ...filled, sweep, limit: largestPage }, signal);
        return [sweep, jobs] as const;
      });
      const unfolded = new Map((await Promise.all(trials)).filter(([sweep]) => this.#unfolded.has(sweep)));
      this.#answer(asking, { runs: found, folded, unfolded, total, error: null, isReading: false });
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
