import { Store } from '../state/store.ts';
import type { ShownChart } from './chart-data.ts';

/** A part of the x axis. */
export interface Span {
  readonly min: number;
  readonly max: number;
}

const zoomFactor = 0.7;
const panFactor = 0.2;
/** The narrowest zoom, in points of evenly spread data. */
const fewestPoints = 2;

let nextKey = 1;

/** What the charts of a page share: their pointer and their zoom. */
export class ChartGroup {
  readonly key = `charts-${nextKey++}`;
  /** The part that is shown; `null` for all. */
  readonly zoom = new Store<Span | null>(null);
  /** The charts on the page, in no order. */
  readonly charts = new Set<ShownChart>();
  /** Of whom the charts are, for their files. */
  title: string;

  constructor(title = '') {
    this.title = title;
  }

  /** The charts in the order of the page. */
  inOrder(): ShownChart[] {
    const isBefore = (one: ShownChart, other: ShownChart) =>
      (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
    return [...this.charts].sort((one, other) => (isBefore(one, other) ? -1 : 1));
  }

  /** All that any chart has; `null` without points. */
  private get _all(): Span | null {
    const ends = [...this.charts].flatMap(({ x }) =>
      x.length === 0 ? [] : [x[0] as number, x.at(-1) as number],
    );
    return ends.length === 0 ? null : { min: Math.min(...ends), max: Math.max(...ends) };
  }

  /** Shows `width` from `from`, within what there is. */
  show(from: number, width: number): void {
    const all = this._all;
    if (all === null || all.max <= all.min) return;
    const whole = all.max - all.min;
    const points = Math.max(...[...this.charts].map(({ x }) => x.length));
    const span = Math.min(Math.max(width, (fewestPoints * whole) / points), whole);
    const min = Math.min(Math.max(from, all.min), all.max - span);
    this.zoom.set(span < whole ? { min, max: min + span } : null);
  }

  /** Zooms in, or out. @param around what keeps its place; otherwise the middle does. */
  scale(direction: 1 | -1, around?: number): void {
    const shown = this.zoom.value ?? this._all;
    if (shown === null) return;
    const factor = direction > 0 ? zoomFactor : 1 / zoomFactor;
    const at = around ?? (shown.min + shown.max) / 2;
    this.show(at - (at - shown.min) * factor, (shown.max - shown.min) * factor);
  }

  /** Moves to the right, or left. */
  pan(direction: 1 | -1): void {
    const shown = this.zoom.value;
    if (shown !== null)
      this.show(shown.min + direction * panFactor * (shown.max - shown.min), shown.max - shown.min);
  }

  reset(): void {
    this.zoom.set(null);
  }
}
