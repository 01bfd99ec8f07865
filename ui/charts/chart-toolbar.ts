import { html, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { checkField } from '../elements/fields.ts';
import { LightElement } from '../elements/light-element.ts';
import { chartOptions, mostSmoothing, type XName, xNames } from '../state/runs/chart-options.ts';
import { Watch } from '../state/store.ts';
import { axes } from './axis.ts';
import { saveCsv, savePng } from './chart-files.ts';
import { ChartGroup } from './chart-group.ts';
import { zoomTools } from './zoom-tools.ts';

/** The tools of all charts of a page: x axis, scale, range, smoothing, zoom and files. */
@customElement('hone-chart-toolbar')
export class ChartToolbar extends LightElement {
  @property({ attribute: false }) group = new ChartGroup();

  constructor() {
    super();
    new Watch(this, chartOptions);
  }

  protected override render(): TemplateResult {
    const { x, log, smoothing, all } = chartOptions.value;
    return html`<div class="chart-toolbar" role="group" aria-label="All charts">
      <label class="check" for="chart-x">X axis</label>
      <select id="chart-x" class="narrow" .value=${x} @change=${this._axis}>
        ${xNames.map((name) => html`<option value=${name} ?selected=${name === x}>${axes[name].title}</option>`)}
      </select>
      ${checkField('Log scale', log, (on) => chartOptions.change({ log: on }))}
      ${checkField(
        'Show outliers',
        all,
        (on) => chartOptions.change({ all: on }),
        'Otherwise the range of values leaves out outliers',
      )}
      <span class="check">
        <label for="smoothing">Smoothing</label>
        <input
          id="smoothing"
          type="range"
          min="0"
          max=${mostSmoothing}
          step="0.01"
          .value=${String(smoothing)}
          @input=${(event: Event) => chartOptions.change({ smoothing: Number((event.target as HTMLInputElement).value) })}
        />
        <output class="tabular" for="smoothing">${smoothing.toFixed(2)}</output>
      </span>
      <span class="row">
        <button type="button" class="small" aria-label="PNG of all charts" @click=${this._png}>PNG</button>
        <button type="button" class="small" aria-label="CSV of all charts" @click=${this._csv}>CSV</button>
      </span>
      ${zoomTools(this.group, 'Zoom')}
    </div>`;
  }

  private _csv(): void {
    saveCsv(this.group.title, this.group.inOrder());
  }

  private _png(): void {
    void savePng(this.group.title, this.group.inOrder());
  }

  private _axis(event: Event): void {
    // The zoom is in the numbers of the former axis.
    this.group.reset();
    chartOptions.change({ x: (event.target as HTMLSelectElement).value as XName });
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-chart-toolbar': ChartToolbar;
  }
}
