import { html, nothing, type TemplateResult } from 'lit';
import type { Import } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { errorPanel } from '../../elements/parts.ts';
import { rowUnit } from './import-words.ts';

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
    ${repeated(record.left_out)} ${problemTable(record)}
    <p>${next}</p>
  </div>`;
}

/** The rows that a completed import has left out. */
export const importProblems = (record: Import): TemplateResult =>
  html`<div class="left-out">
    <p>${rowsOf(record)} left out:</p>
    ${repeated(record.left_out)}
    ${problemTable(record)}
  </div>`;

/** How many rows there are before an import starts, and why some do not fit. */
export function importCount({ row_count: counted, state }: Import): TemplateResult | typeof nothing {
  if (counted === null) return nothing;
  const { rows, is_exact: isExact, checked, fit, left_out: leftOut, fault } = counted;
  const some = isExact || checked === rows ? '' : ` of the first ${formatCount(checked)}`;
  const fitting =
    fit === null ? '' : fit === checked ? `, all${some} fit` : `, ${formatCount(fit)}${some} fit`;
  return html`<div class="import-count">
    <p role="status">${isExact || fault !== null ? '' : 'About '}${rowsIn(rows)}${fault === null ? '' : ' up to a fault'}${fitting}.</p>
    ${fault === null ? nothing : html`<p class="fault wrap"><bdi>${fault}</bdi></p>`}
    ${state === 'failed' ? nothing : reasons(leftOut)}
  </div>`;
}

/** Reasons of which the table of faults alone does not tell the number. */
const repeated = (leftOut: Import['left_out']) =>
  reasons(leftOut.some(({ rows }) => rows > 1) ? leftOut : []);

/** Why rows do not fit, and how many. */
const reasons = (leftOut: Import['left_out']): TemplateResult | typeof nothing =>
  leftOut.length === 0
    ? nothing
    : html`<ul>
        ${leftOut.map(
          ({ message, rows }) => html`<li class="wrap"><bdi>${message}</bdi>: ${rowsIn(rows)}</li>`,
        )}
      </ul>`;

const rowsIn = (count: number) => (count === 1 ? '1 row' : `${formatCount(count)} rows`);
const rowsOf = ({ total_problems: total }: Import) => rowsIn(total);

function problemTable(record: Import): TemplateResult {
  const { problems, total_problems: total } = record;
  const shown = problems.slice(0, shownProblems);
  return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Faults of the source">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col" class="right">${rowUnit(record)}</th>
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
