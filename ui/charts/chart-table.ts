import { html, type TemplateResult } from 'lit';
import type { ShownChart } from './chart-data.ts';
import { saveCsv, savePng } from './chart-files.ts';

/** Row limit of the data table; the CSV file has the whole series. */
const tableRows = 200;

/** The data of a chart as a table, newest first, with its files. @param title of whom the chart is. */
export function chartTable(chart: ShownChart, title: string): TemplateResult {
  const { heading, xs, lines, format } = chart;
  const [shown] = xs;
  if (shown === undefined) return html``;
  const { axis, values: steps } = shown;
  const stride = Math.max(1, Math.ceil(steps.length / tableRows));
  const rows: number[] = [];
  for (let row = steps.length - 1; row >= 0; row -= stride) rows.push(row);
  return html`
    <p class="row wrap-row between">
      <span class="muted">
        ${stride === 1 ? `All ${steps.length} points` : `${rows.length} of ${steps.length.toLocaleString('en')} points`}, highest first
      </span>
      <span class="row wrap-row">
        <button type="button" class="small" @click=${() => saveCsv(title, [chart])}>Download CSV</button>
        <button type="button" class="small" @click=${() => savePng(title, [chart])}>Download PNG</button>
      </span>
    </p>
    <div class="scroll-box" tabindex="0" role="region" aria-label="${heading}: data">
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">${axis.title}</th>
            ${lines.map((line) => html`<th scope="col"><bdi>${line.label}</bdi></th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row) => html`<tr>
              <th scope="row">${axis.format(steps[row] ?? 0)}</th>
              ${lines.map((line) => html`<td>${format(line.values[row])}</td>`)}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `;
}
