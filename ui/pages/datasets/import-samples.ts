import { html, nothing, type TemplateResult } from 'lit';
import type { Import } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { rowFields } from '../../views/datasets/row-fields.ts';

const textLimit = 300;

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
