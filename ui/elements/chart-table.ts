import { html, type TemplateResult } from 'lit';
import type { ChartLine } from './chart-drawing.ts';
import { formatCount } from './format.ts';

/** Row limit of the data table; the CSV file has the whole series. */
const tableRows = 200;

interface Data {
  readonly heading: string;
  /** What the steps count. */
  readonly axis: string;
  readonly steps: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly format: (value: number | null | undefined) => string;
}

/** The data of a chart as a table, newest first, with a CSV download. */
export function chartTable(data: Data): TemplateResult {
  const { heading, axis, steps, lines, format } = data;
  const stride = Math.max(1, Math.ceil(steps.length / tableRows));
  const rows: number[] = [];
  for (let row = steps.length - 1; row >= 0; row -= stride) rows.push(row);
  return html`
    <p class="row between">
      <span class="muted">
        ${stride === 1 ? `All ${steps.length} points` : `${rows.length} of ${steps.length.toLocaleString('en')} points`}, ${axis === 'Step' ? 'newest' : 'highest'} first
      </span>
      <button type="button" class="small" @click=${() => download(data)}>Download CSV</button>
    </p>
    <div class="scroll-box" tabindex="0" role="region" aria-label="${heading}: data">
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">${axis}</th>
            ${lines.map((line) => html`<th scope="col"><bdi>${line.label}</bdi></th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row) => html`<tr>
              <th scope="row">${formatCount(steps[row] ?? 0)}</th>
              ${lines.map((line) => html`<td>${format(line.values[row])}</td>`)}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `;
}

function download({ heading, axis, steps, lines }: Data): void {
  const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const head = [axis.toLowerCase(), ...lines.map(({ label }) => quote(label))].join(',');
  const rows = steps.map((step, row) => [step, ...lines.map(({ values }) => values[row] ?? '')].join(','));
  const url = URL.createObjectURL(new Blob([[head, ...rows].join('\n')], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${heading.toLowerCase().replace(/\W+/g, '-')}.csv`;
  link.click();
  URL.revokeObjectURL(url);
}
