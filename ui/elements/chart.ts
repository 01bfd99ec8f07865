import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import uPlot from 'uplot';
import { Watch } from '../state/store.ts';
import { theme } from '../state/theme.ts';
import { type ChartLine, drawing, drawMark, look } from './chart-drawing.ts';
import { chartTable } from './chart-table.ts';
import { formatNumber } from './format.ts';

export type { ChartLine } from './chart-drawing.ts';

const zoomFactor = 0.7;
const panFactor = 0.2;

/** Whether the lines' styles or arrays have changed. */
function differ(next: readonly ChartLine[], before: readonly ChartLine[] | undefined): boolean {
  return (
    before?.length !== next.length ||
    next.some((line, index) => {
      const old = before[index];
      return old?.values !== line.values || look(old) !== look(line);
    })
  );
}

let nextId = 1;

/**
 * A line chart over steps, with zoom, pan, a legend that follows the pointer or arrow keys, and a data table.
 * Its arrays may grow in place: set a new `revision` when they do.
 */
@customElement('hone-chart')
export class Chart extends LitElement {
  @property() heading = '';
  @property({ attribute: false }) steps: readonly number[] = [];
  @property({ attribute: false, hasChanged: differ }) lines: readonly ChartLine[] = [];
  /** Fixed for a chart: changing it does not redraw. */
  @property({ attribute: false, hasChanged: () => false }) format: (
    value: number | null | undefined,
  ) => string = formatNumber;
  @property({ attribute: false }) revision: unknown = null;
  /** Charts with the same key share their pointer. */
  @property() sync = '';
  /** What the steps count. */
  @property() axis = 'Step';
  /** A step to mark with a line. */
  @property({ attribute: false }) mark: number | null = null;
  /** Uses a logarithmic scale if all values are positive. */
  @property({ attribute: false }) log = false;
  @state() private _index: number | null = null;
  @state() private _tableOpen = false;
  private _zoomed = false;
  private _plot: uPlot | null = null;
  private _shape = '';
  private _frame = 0;
  private readonly _id = `chart-${nextId++}`;
  private _visible = false;
  private readonly _resize = new ResizeObserver(() => this._fit());
  /** Off-screen charts are drawn once and not updated. */
  private readonly _seen = new IntersectionObserver((entries) => {
    this._visible = entries.at(-1)?.isIntersecting ?? false;
    if (this._visible) this._schedule();
  });

  constructor() {
    super();
    new Watch(this, theme);
  }

  /** Light DOM: one stylesheet, and labels can refer to controls. */
  protected override createRenderRoot(): this {
    return this;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    cancelAnimationFrame(this._frame);
    this._frame = 0;
    this._resize.disconnect();
    this._seen.disconnect();
    this._plot?.destroy();
    this._plot = null;
    this._shape = '';
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._seen.observe(this);
    this.requestUpdate();
  }

  protected override updated(changed: PropertyValues): void {
    // Moving the pointer changes only the legend.
    if (changed.size === 1 && changed.has('_index')) return;
    this._schedule();
  }

  private _schedule(): void {
    const isWanted = this._visible || (this._plot === null && this.steps.length > 0);
    if (isWanted && this._frame === 0) this._frame = requestAnimationFrame(() => this._draw());
  }

  private get _area(): HTMLElement | null {
    return this.querySelector('.chart-area');
  }

  private _draw(): void {
    this._frame = 0;
    const area = this._area;
    if (area === null || !this.isConnected) return;
    const dark = getComputedStyle(document.documentElement).colorScheme;
    const isLog =
      this.log && this.lines.every(({ values }) => values.every((value) => value == null || value > 0));
    const shape = `${dark}|${theme.value}|${this.sync}|${isLog}|${this.lines.map(look).join('|')}`;
    const data = [this.steps, ...this.lines.map(({ values }) => values)] as uPlot.AlignedData;
    if (this._plot === null || shape !== this._shape) {
      this._plot?.destroy();
      this._shape = shape;
      this._zoomed = false;
      this._plot = new uPlot(
        {
          ...drawing(this, area, { lines: this.lines, format: this.format, isLog, sync: this.sync }),
          hooks: this._hooks(),
        },
        data,
        area,
      );
      this._resize.observe(area);
      return;
    }
    if (this._zoomed) {
      const { min, max } = this._plot.scales.x as uPlot.Scale;
      this._plot.setData(data, false);
      this._plot.setScale('x', { min: min as number, max: max as number });
    } else this._plot.setData(data);
  }

  private _hooks(): uPlot.Hooks.Arrays {
    return {
      setCursor: [
        (plot) => {
          const index = plot.cursor.idx ?? null;
          if (index !== this._index) this._index = index;
        },
      ],
      setSelect: [
        (plot) => {
          if (plot.select.width > 0) this._zoomed = true;
        },
      ],
      draw: [(plot) => this.mark !== null && drawMark(plot, this, this.mark)],
      ready: [(plot) => this._listen(plot)],
    };
  }

  private _listen(plot: uPlot): void {
    plot.over.addEventListener('dblclick', () => this._reset());
    plot.over.addEventListener(
      'wheel',
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        const at = plot.posToVal(event.offsetX, 'x');
        this._zoom(event.deltaY < 0 ? zoomFactor : 1 / zoomFactor, at);
      },
      { passive: false },
    );
    plot.over.addEventListener(
      'mousedown',
      (event) => {
        if (!event.shiftKey) return;
        event.stopImmediatePropagation();
        event.preventDefault();
        let from = event.clientX;
        const move = (moved: MouseEvent) => {
          const { min, max } = plot.scales.x as { min: number; max: number };
          this._show(min - ((moved.clientX - from) / plot.over.clientWidth) * (max - min), max - min);
          from = moved.clientX;
        };
        addEventListener('mousemove', move);
        addEventListener('mouseup', () => removeEventListener('mousemove', move), { once: true });
      },
      { capture: true },
    );
  }

  private _fit(): void {
    const area = this._area;
    if (area === null || this._plot === null || area.clientWidth === 0) return;
    if (this._plot.width !== area.clientWidth || this._plot.height !== area.clientHeight) {
      this._plot.setSize({ width: area.clientWidth, height: area.clientHeight });
    }
  }

  private _reset(): void {
    this._zoomed = false;
    this._draw();
  }

  /** Shows `width` steps from `from`, clamped to the data. */
  private _show(from: number, width: number): void {
    const first = this.steps[0] ?? 0;
    const last = this.steps.at(-1) ?? 1;
    const span = Math.min(Math.max(width, 2), last - first);
    if (this._plot === null || span <= 0) return;
    const min = Math.min(Math.max(from, first), last - span);
    this._zoomed = span < last - first;
    this._plot.setScale('x', { min, max: min + span });
  }

  private _zoom(factor: number, around?: number): void {
    const { min, max } = (this._plot?.scales.x ?? {}) as { min?: number; max?: number };
    if (min == null || max == null) return;
    const at = around ?? (min + max) / 2;
    this._show(at - (at - min) * factor, (max - min) * factor);
  }

  private _pan(direction: number): void {
    const { min, max } = (this._plot?.scales.x ?? {}) as { min?: number; max?: number };
    if (min == null || max == null) return;
    this._show(min + direction * panFactor * (max - min), max - min);
  }

  private _key(event: KeyboardEvent): void {
    const actions: Record<string, () => void> = {
      ArrowLeft: () => (event.shiftKey ? this._pan(-1) : this._point(-1)),
      ArrowRight: () => (event.shiftKey ? this._pan(1) : this._point(1)),
      '+': () => this._zoom(zoomFactor),
      '-': () => this._zoom(1 / zoomFactor),
      '0': () => this._reset(),
    };
    const action = actions[event.key];
    if (action === undefined || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    action();
  }

  /** Moves the pointer to a neighbouring point. */
  private _point(by: number): void {
    if (this.steps.length === 0 || !this.isConnected) return;
    if (this._plot === null) {
      // The key was pressed before the chart was first drawn.
      this._draw();
      requestAnimationFrame(() => this._point(by));
      return;
    }
    const plot = this._plot;
    const index = Math.min(this.steps.length - 1, Math.max(0, (this._index ?? this.steps.length - 1) + by));
    const left = plot.valToPos(this.steps[index] as number, 'x');
    plot.setCursor({ left, top: plot.over.clientHeight / 2 });
  }

  protected override render(): TemplateResult {
    const index = this._index ?? this.steps.length - 1;
    const step = this.steps[index];
    return html`
      <section class="chart" aria-labelledby=${this._id}>
        <header class="chart-head">
          <h3 id=${this._id}>${this.heading}</h3>
          <div class="chart-tools" role="group" aria-label="${this.heading}: view">
            ${tool('Pan left', '‹', () => this._pan(-1))} ${tool('Pan right', '›', () => this._pan(1))}
            ${tool('Zoom in', '+', () => this._zoom(zoomFactor))}
            ${tool('Zoom out', '−', () => this._zoom(1 / zoomFactor))}
            ${tool('Reset zoom', '⤢', () => this._reset())}
          </div>
        </header>
        <dl class="legend">
          ${this.lines.map(
            (line) => html`<div class=${line.faint ? 'faint' : ''}>
              <dt>
                <i class="swatch" data-colour=${line.colour.slice(2)}></i>
                <bdi class=${line.label === this.heading ? 'off-screen' : ''}>${line.label}</bdi>
              </dt>
              <dd>${this.format(this._index === null ? lastOf(line.values) : line.values[index])}</dd>
            </div>`,
          )}
          <div class="legend-step"><dt>${this.axis}</dt><dd>${step === undefined ? '–' : step.toLocaleString('en')}</dd></div>
        </dl>
        <div
          class="chart-area"
          tabindex="0"
          role="group"
          aria-label="${this.heading}: chart of ${this.steps.length} points. Arrow keys read points, plus and minus zoom, 0 resets."
          @keydown=${this._key}
        ></div>
        <details class="chart-data" @toggle=${this._toggled}>
          <summary>Data table</summary>
          ${this._tableOpen ? chartTable(this) : nothing}
        </details>
      </section>
    `;
  }

  private _toggled(event: Event): void {
    this._tableOpen = (event.target as HTMLDetailsElement).open;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-chart': Chart;
  }
}

function tool(label: string, sign: string, act: () => void): TemplateResult {
  return html`<button type="button" class="tool" aria-label=${label} title=${label} @click=${act}>
    <span aria-hidden="true">${sign}</span>
  </button>`;
}

function lastOf(values: readonly (number | null)[]): number | null {
  for (let index = values.length - 1; index >= 0; index -= 1) {
    const value = values[index];
    if (value != null) return value;
  }
  return null;
}
