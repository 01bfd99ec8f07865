import type { Direction } from '../../../src/contract/sweeps.ts';
import { usualMetric, usualTrials } from '../../../src/contract/sweeps.ts';
import { readStored, writeStored } from '../local-storage.ts';
import { Store } from '../store.ts';

/** The values of a setting that varies, as texts; of a range, `choices` is not used, and the other way round. */
export interface WrittenDimension {
  readonly kind: 'range' | 'choices';
  readonly low: string;
  readonly high: string;
  readonly log: boolean;
  /** Separated by commas. */
  readonly choices: string;
}

/** The state of the form for a new sweep, besides the training that its trials share. */
export interface SweepDraft {
  readonly space: Readonly<Record<string, WrittenDimension>>;
  readonly trials: string;
  readonly metric: string;
  /** Empty for the metric's own. */
  readonly direction: Direction | '';
  readonly culling: boolean;
}

const initial: SweepDraft = {
  // A tenth to ten times the recommended rate.
  space: { learning_rate: { kind: 'range', low: '2e-5', high: '2e-3', log: true, choices: '' } },
  trials: String(usualTrials),
  metric: usualMetric,
  direction: '',
  culling: true,
};

/** The draft, kept in local storage. */
class SweepDraftStore extends Store<SweepDraft> {
  constructor() {
    super({ ...initial, ...readStored<Partial<SweepDraft>>('sweep-draft', {}) });
  }

  change(part: Partial<SweepDraft>): void {
    this.set({ ...this.value, ...part });
    writeStored('sweep-draft', this.value);
  }

  /** Sets how a setting varies; `null` lets it vary no longer. */
  dimension(name: string, dimension: WrittenDimension | null): void {
    const { [name]: _old, ...others } = this.value.space;
    this.change({ space: dimension === null ? others : { ...this.value.space, [name]: dimension } });
  }
}

export const sweepDraft = new SweepDraftStore();
