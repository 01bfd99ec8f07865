import { html, nothing, type TemplateResult } from 'lit';
import type { Import } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { rowFields } from '../../views/row-fields.ts';

const textLimit = 300;
const shownProblems = 20;

/** Rows of the source beside what the import makes of them. */
export function importSamples({ samples, container }: Import): TemplateResult {
  const unit = container === 'parquet' ? 'Row' : 'Line';
  return html`<ol class="import-samples">
    ${samples.map(
      ({ row, before, after, problem }) => html`<li aria-label="${unit} ${row}">
        <div class="import-side">
          <h3>${unit} ${formatCount(row)} <span class="muted">before</span></h3>
          ${rowFields(before, null, textLimit)}
        </div>
        <div class="import-side">
          <h3>${unit} ${formatCount(row)} <span class="muted">after</span></h3>
          ${problem === null ? nothing : html`<p class="fault wrap"><bdi>${problem}</bdi></p>`}
          ${after == null ? (problem === null ? html`<p class="muted">Choose a column for each field.</p>` : nothing) : rowFields(after, null, textLimit)}
        </div>
      </li>`,
    )}
  </ol>`;
}

/** The faults of a source by line and column. */
export function importProblems({ problems, total_problems: total }: Import): TemplateResult | typeof nothing {
  if (total === 0) return nothing;
  const shown = problems.slice(0, shownProblems);
  return html`<div class="panel-error" role="alert">
    <p class="panel-title">${total === 1 ? '1 row cannot be imported' : `${formatCount(total)} rows cannot be imported`}</p>
    <div class="scroll-box" tabindex="0" role="region" aria-label="Faults of the source">
      <table class="rows">
        <thead>
          <tr><th scope="col" class="right">Line</th><th scope="col">Column</th><th scope="col">Fault</th></tr>
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
    ${total > shown.length ? html`<p>And ${formatCount(total - shown.length)} more.</p>` : nothing}
  </div>`;
}
