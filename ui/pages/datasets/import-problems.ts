import { html, nothing, type TemplateResult } from 'lit';
import type { Import } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { errorPanel } from '../../elements/parts.ts';

const shownProblems = 20;

/** Why an import failed, and what to do: the faults by line and column, or what is wrong with the whole source. */
export function importFailure(
  record: Import,
  { title, next }: { title: string; next: string },
): TemplateResult {
  const hasPlace = record.problems.some(({ line, column }) => line !== null || column !== null);
  if (!hasPlace) return errorPanel({ title, cause: record.error?.message ?? '', next });
  return html`<div class="panel-error" role="alert">
    <p class="panel-title">${title}</p>
    <p>${rowsOf(record)} cannot be imported.</p>
    ${problemTable(record)}
    <p>${next}</p>
  </div>`;
}

/** The rows that a completed import has left out. */
export const importProblems = (record: Import): TemplateResult =>
  html`<div class="left-out">
    <p>${rowsOf(record)} left out:</p>
    ${problemTable(record)}
  </div>`;

const rowsOf = ({ total_problems: total }: Import) => (total === 1 ? '1 row' : `${formatCount(total)} rows`);

function problemTable({ problems, total_problems: total, container }: Import): TemplateResult {
  const shown = problems.slice(0, shownProblems);
  return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Faults of the source">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col" class="right">${container === 'parquet' ? 'Row' : 'Line'}</th>
            <th scope="col">Column</th>
            <th scope="col">Fault</th>
          </tr>
        </thead>
        <tbody>
          ${shown.map(
            ({ line, column, message }) => html`<tr>
              <td class="right">${line === null ? '–' : formatCount(line)}</td>
              <td class="wrap"><bdi>${column ?? '–'}</bdi></td>
              <td class="wrap"><bdi>${message.replace(/^(Line|Row) \d+: /, '')}</bdi></td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${total > shown.length ? html`<p>And ${formatCount(total - shown.length)} more.</p>` : nothing}`;
}
