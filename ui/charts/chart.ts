import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import uPlot from 'uplot';
import { type Format, formatNumber } from '../elements/format.ts';
import { info } from '../elements/info/info.ts';
import { LightElement } from '../elements/light-element.ts';
import { paced } from '../state/runs/pace.ts';
import { Watch } from '../state/store.ts';
import { theme } from '../state/theme.ts';
import { type Axis, axes } from './axis.ts';
import type { ChartLine, ChartX, ShownChart } from './chart-data.ts';
import { drawing, type Layer, look } from './chart-drawing.ts';
import { ChartGroup } from './chart-group.ts';
import { chartTable } from './chart-table.ts';
import { listen } from './gestures.ts';
import { drawMarks, type Mark, marksAt } from './marks.ts';
import { Smoothed, type Values } from './smoothing.ts';
import { zoomTools } from './zoom-tools.ts';

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

/** Whether another axis is shown, or its places are in another array. */
const areOtherXs = (next: readonly ChartX[], before: readonly ChartX[] | undefined) =>
  before?.length !== next.length ||
  next.some(({ axis, values }, index) => before[index]?.axis !== axis || before[index]?.values !== values);

const areOtherMarks = (next: readonly Mark[], before: readonly Mark[] | undefined) =>
  before?.length !== next.length ||
  next.some((mark, index) => {
    const old = before[index];
    return (
      old?.kind !== mark.kind ||
      old.at !== mark.at ||
      old.run?.name !== mark.run?.name ||
      old.run?.colour !== mark.run?.colour
    );
  });

/** The shortest time between two drawings of a chart that cannot be seen. */
const offScreenMs = 2_000;
/** About the width of a sheet of A4 in CSS pixels; the style sheet fits charts to that of the paper. */
const paperWidth = 680;

let nextId = 1;

/**
 * A line chart with zoom, pan, a legend that follows the pointer or arrow keys, and a data table.
 * Its arrays may grow in place: set a new `revision` when they do, and a new `rewritten` when earlier values change.
 */
@customElement('hone-chart')
export class Chart extends LightElement implements ShownChart {
  @property() heading = '';
  /** The title of the value axis, where it is not the heading. */
  @property() measures = '';
  /** The x axis that is shown, then others of the same points. */
  @property({ attribute: false, hasChanged: areOtherXs }) xs: readonly ChartX[] = [];
  @property({ attribute: false, hasChanged: differ }) lines: readonly ChartLine[] = [];
  /** Fixed for a chart: changing it does not redraw. */
  @property({ attribute: false, hasChanged: () => false }) format: Format = formatNumber;
  @property({ attribute: false }) revision: unknown = null;
  @property({ attribute: false }) rewritten = 0;
  /** Charts of the same group share their pointer and zoom, and leave the tools to a toolbar. */
  @property({ attribute: false }) group: ChartGroup | null = null;
  /** Marked places on the x axis. */
  @property({ attribute: false, hasChanged: areOtherMarks }) marks: readonly Mark[] = [];
  /** Uses a logarithmic scale if no value is negative. */
  @property({ attribute: false }) log = false;
  /** Leaves outliers out of the range of values. */
  @property({ attribute: false }) robust = false;
  /** The weight of the moving average of lines to be smoothed; 0 for none. */
  @property({ attribute: false }) smoothing = 0;
  @state() private _index: number | null = null;
  @state() private _tableOpen = false;
  /** Whether anything is outside the range. */
  @state() private _isCut = false;
  private readonly _own = new ChartGroup();
  private _joined: ChartGroup | null = null;
  private _unfollow: (() => void) | null = null;
  private readonly _smoothed: Smoothed[] = [];
  private readonly _signs = new WeakMap<
    Values,
    { rewritten: number; checked: number; isNegative: boolean }
  >();
  private _layers: readonly Layer[] = [];
  private _plot: uPlot | null = null;
  private _shape = '';
  private _frame = 0;
  private readonly _id = `chart-${nextId++}`;
  private _visible = false;
  private readonly _resize = new ResizeObserver(() => this._fit());
  /** Off-screen charts are drawn rarely, so that a picture of the whole page has them. */
  private readonly _rarely = paced(() => this._draw(), offScreenMs);
  private readonly _seen = new IntersectionObserver((entries) => {
    this._visible = entries.at(-1)?.isIntersecting ?? false;
    if (this._visible) this._schedule();
  });

  constructor() {
    super();
    new Watch(this, theme);
  }

  /** The values along the x axis. */
  get x(): readonly number[] {
    return this.xs[0]?.values ?? [];
  }

  /** The chart as it looks now, drawn even if it cannot be seen; `null` if it has no place on the page. */
  drawn(): HTMLCanvasElement | null {
    cancelAnimationFrame(this._frame);
    this._draw();
    const plot = this._plot;
    // Otherwise it would be drawn after the current task.
    plot?.batch(() => plot.redraw(false));
    return plot?.ctx.canvas ?? null;
  }

  /** Draws at once: there is no frame before the paper. */
  private readonly _print = () => {
    if (this.drawn() !== null) this._plot?.setSize({ width: paperWidth, height: this._plot.height });
  };

  private readonly _printed = () => {
    this.drawn();
    this._fit();
  };

  private get _axis(): Axis {
    return this.xs[0]?.axis ?? axes.step;
  }

  private get _group(): ChartGroup {
    return this.group ?? this._own;
  }

  /** Light DOM: one stylesheet, and labels can refer to controls. */
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    cancelAnimationFrame(this._frame);
    this._frame = 0;
    this._rarely.cancel();
    removeEventListener('beforeprint', this._print);
    removeEventListener('afterprint', this._printed);
    this._resize.disconnect();
    this._seen.disconnect();
    this._plot?.destroy();
    this._plot = null;
    this._shape = '';
    this._leave();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._seen.observe(this);
    addEventListener('beforeprint', this._print);
    addEventListener('afterprint', this._printed);
    this.requestUpdate();
  }

  private _leave(): void {
    this._unfollow?.();
    this._joined?.charts.delete(this);
    this._joined = null;
  }

  protected override willUpdate(): void {
    const group = this._group;
    if (this._joined !== group && this.isConnected) {
      this._leave();
      this._joined = group;
      group.charts.add(this);
      this._unfollow = group.zoom.subscribe(() => this._schedule());
    }
    this._layers = this.lines.flatMap((line, index): Layer[] => {
      if (!line.smooth || this.smoothing === 0) return [{ line, values: line.values, isPale: false }];
      this._smoothed[index] ??= new Smoothed();
      const values = (this._smoothed[index] as Smoothed).follow(line.values, this.smoothing, this.rewritten);
      return [
        { line, values: line.values, isPale: true },
        { line, values, isPale: false },
      ];
    });
  }

  protected override updated(changed: PropertyValues): void {
    // Moving the pointer changes only the legend.
    if (changed.size === 1 && (changed.has('_index') || changed.has('_isCut'))) return;
    this._schedule();
  }

  private _schedule(): void {
    const isWanted = this._visible || (this._plot === null && this.x.length > 0);
    if (!isWanted) this._rarely.ask();
    else if (this._frame === 0) this._frame = requestAnimationFrame(() => this._draw());
  }

  private get _area(): HTMLElement | null {
    return this.querySelector('.chart-area');
  }

  private _draw(): void {
    this._frame = 0;
    const area = this._area;
    if (area === null || !this.isConnected) return;
    const dark = getComputedStyle(document.documentElement).colorScheme;
    const { key, zoom } = this._group;
    const isLog = this.log && this._isPositive();
    const looks = this._layers.map(({ line, isPale }) => `${look(line)},${isPale}`);
    const shape = [dark, theme.value, key, isLog, this.robust, this._axis.title, this.heading, ...looks].join(
      '|',
    );
    const data = [this.x, ...this._layers.map(({ values }) => values)] as uPlot.AlignedData;
    if (this._plot === null || shape !== this._shape) {
      this._plot?.destroy();
      this._shape = shape;
      const [axis, layers, sync] = [this._axis, this._layers, this.group === null ? '' : key];
      const onRange = (isCut: boolean) => {
        this._isCut = isCut;
      };
      this._isCut = false;
      this._plot = new uPlot(
        {
          ...drawing(this, area, {
            axis,
            title: this.measures || this.heading,
            layers,
            format: this.format,
            isLog,
            isRobust: this.robust,
            onRange,
            sync,
          }),
          hooks: this._hooks(),
        },
        data,
        area,
      );
      this._resize.observe(area);
    } else this._plot.setData(data, zoom.value === null);
    if (zoom.value !== null) this._plot.setScale('x', zoom.value);
  }

  /** Whether a logarithmic scale can show the values: zeros are below it. */
  private _isPositive(): boolean {
    return this.lines.every(({ values }) => {
      let known = this._signs.get(values);
      if (known === undefined || known.rewritten !== this.rewritten) {
        known = { rewritten: this.rewritten, checked: 0, isNegative: false };
        this._signs.set(values, known);
      }
      for (; known.checked < values.length; known.checked += 1) {
        if ((values[known.checked] ?? 0) < 0) known.isNegative = true;
      }
      return !known.isNegative;
    });
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
          const { left, width } = plot.select;
          if (width === 0) return;
          const from = plot.posToVal(left, 'x');
          this._group.show(from, plot.posToVal(left + width, 'x') - from);
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      draw: [(plot) => drawMarks(plot, this, this.marks)],
      ready: [(plot) => listen(plot, () => this._group)],
    };
  }

  private _fit(): void {
    const area = this._area;
    if (area === null || this._plot === null || area.clientWidth === 0) return;
    if (this._plot.width !== area.clientWidth || this._plot.height !== area.clientHeight) {
      this._plot.setSize({ width: area.clientWidth, height: area.clientHeight });
    }
  }

  private _key(event: KeyboardEvent): void {
    const actions: Record<string, () => void> = {
      ArrowLeft: () => (event.shiftKey ? this._group.pan(-1) : this._point(-1)),
      ArrowRight: () => (event.shiftKey ? this._group.pan(1) : this._point(1)),
      '+': () => this._group.scale(1),
      '-': () => this._group.scale(-1),
      '0': () => this._group.reset(),
    };
    const action = actions[event.key];
    if (action === undefined || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    action();
  }

  /** Moves the pointer to a neighbouring point. */
  private _point(by: number): void {
    if (this.x.length === 0 || !this.isConnected) return;
    if (this._plot === null) {
      // The key was pressed before the chart was first drawn.
      this._draw();
      requestAnimationFrame(() => this._point(by));
      return;
    }
    const plot = this._plot;
    const index = Math.min(this.x.length - 1, Math.max(0, (this._index ?? this.x.length - 1) + by));
    const left = plot.valToPos(this.x[index] as number, 'x');
    plot.setCursor({ left, top: plot.over.clientHeight / 2 });
  }

  protected override render(): TemplateResult {
    const index = this._index ?? this.x.length - 1;
    const at = this.x[index];
    const shownOf = ({ values }: Layer) => (this._index === null ? lastOf(values) : values[index]);
    const axis = this._axis;
    const passed = this._index === null ? [] : marksAt(this.marks, this.x, index);
    return html`
      <section class="chart" aria-labelledby=${this._id}>
        <header class="chart-head">
          <h3 id=${this._id}>${this.heading}</h3>${info(this.heading)}
          ${this._isCut ? html`<small class="muted">Outliers are outside the range</small>` : nothing}
          ${this.group === null ? zoomTools(this._own, `${this.heading}: view`) : nothing}
        </header>
        <dl class="legend">
          ${this._layers.map((layer, place) => {
            const raw = this._layers[place - 1];
            return layer.isPale
              ? nothing
              : html`<div>
                  <dt>
                    <i class="swatch" data-colour=${layer.line.colour.slice(2)}></i>
                    <bdi class=${layer.line.label === this.heading ? 'off-screen' : ''}>${layer.line.label}</bdi>
                  </dt>
                  <dd>
                    ${this.format(shownOf(layer))}${raw?.isPale ? html` <small>raw ${this.format(shownOf(raw))}</small>` : nothing}
                  </dd>
                </div>`;
          })}
          <div class="legend-step"><dt>${axis.title}</dt> <dd>${at === undefined ? '–' : axis.format(at)}</dd></div>
          ${passed.map((name) => html`<div><dt><bdi>${name}</bdi></dt> </div>`)}
        </dl>
        <div
          class="chart-area"
          tabindex="0"
          role="group"
          aria-label="${this.heading}: chart of ${this.x.length} points by ${axis.title.toLowerCase()}. Arrow keys read points, plus and minus zoom, 0 resets."
          @keydown=${this._key}
        ></div>
        <details class="chart-data" @toggle=${this._toggled}>
          <summary>Data table</summary>
          ${this._tableOpen ? chartTable(this, this._group.title) : nothing}
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

function lastOf(values: readonly (number | null)[]): number | null {
  for (let index = values.length - 1; index >= 0; index -= 1) {
    const value = values[index];
    if (value != null) return value;
  }
  return null;
}
