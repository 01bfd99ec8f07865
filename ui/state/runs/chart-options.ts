import { readStored, writeStored } from '../local-storage.ts';
import { Store } from '../store.ts';

/** What the x axis of a run's charts counts; `time` is the time spent training, in all attempts. */
export const xNames = ['step', 'epoch', 'time'] as const;
export type XName = (typeof xNames)[number];

/** How charts are drawn. */
export interface ChartOptions {
  readonly x: XName;
  /** A logarithmic scale, for charts without negative values. */
  readonly log: boolean;
  /** The weight of the moving average, from 0 (none) to `mostSmoothing`. */
  readonly smoothing: number;
  /** The range has outliers, too. */
  readonly all: boolean;
}

export const mostSmoothing = 0.99;
/** The smoothing is that of TensorBoard and Weights & Biases, which also start with this weight. */
const initial: ChartOptions = { x: 'step', log: false, smoothing: 0.6, all: false };
const key = 'charts';

/** The options that this viewer has chosen for all charts; they are kept in the browser. */
class ChartOptionsStore extends Store<ChartOptions> {
  constructor() {
    super(checked(readStored<Partial<ChartOptions> | null>(key, null)));
  }

  change(options: Partial<ChartOptions>): void {
    this.set({ ...this.value, ...options });
    writeStored(key, this.value);
  }
}

/** Stored options without what this release does not know. */
function checked(stored: Partial<ChartOptions> | null): ChartOptions {
  const { x, log, smoothing, all } = { ...initial, ...stored };
  return {
    x: xNames.includes(x) ? x : initial.x,
    log: log === true,
    all: all === true,
    smoothing:
      typeof smoothing === 'number' && smoothing >= 0 && smoothing <= mostSmoothing
        ? smoothing
        : initial.smoothing,
  };
}

export const chartOptions = new ChartOptionsStore();
