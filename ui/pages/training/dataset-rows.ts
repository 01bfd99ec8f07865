import { html, nothing, type TemplateResult } from 'lit';
import type { DatasetDetail } from '../../api/types.ts';
import type { Child } from '../../elements/child.ts';
import { formatCount } from '../../elements/format.ts';
import { nameText } from '../../elements/parts.ts';

const cellLimit = 240;
const fieldLimit = 12;

/** The first rows of a dataset as a table. @param actions buttons for the dataset. */
export function datasetRows(
  { filename, rows, num_examples, validation }: DatasetDetail,
  actions: Child,
): TemplateResult {
  const objects = rows.filter(
    (row): row is Record<string, unknown> => typeof row === 'object' && row !== null,
  );
  const fields = [...new Set(objects.flatMap((row) => Object.keys(row)))].slice(0, fieldLimit);
  return html`<div class="row between wrap-row">
      <h3>
        First rows of ${nameText(filename)}
        ${validation.valid ? nothing : html`<span class="badge" data-state="failed">invalid</span>`}
      </h3>
      ${actions}
    </div>
    <div class="scroll-box preview-box" tabindex="0" role="region" aria-label="First rows of the dataset">
      <table class="rows preview">
        <thead>
          <tr>
            <th scope="col" class="right">#</th>
            ${fields.map((field) => html`<th scope="col"><bdi>${field}</bdi></th>`)}
          </tr>
        </thead>
        <tbody>
          ${objects.map(
            (row, index) => html`<tr>
              <td class="right">${index + 1}</td>
              ${fields.map((field) => html`<td class="wrap"><bdi>${cell(row[field])}</bdi></td>`)}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <p class="note">Showing ${formatCount(objects.length)} of ${formatCount(num_examples)} rows.</p>`;
}

/** How the service marks a text that it has cut. */
const cutMark = /… \((\d+) characters\)$/;

/** A cell's text, truncated to fit. */
function cell(value: unknown): string {
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  if (text.length <= cellLimit) return text;
  const length = Number(cutMark.exec(text)?.[1] ?? text.length);
  return `${text.slice(0, cellLimit)}… (${formatCount(length)} characters)`;
}
