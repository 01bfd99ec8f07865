import { html, nothing, type TemplateResult } from 'lit';
import type { RowFault } from '../api/types.ts';
import type { Child } from '../elements/child.ts';
import { nameText } from '../elements/parts.ts';
import { formatCount } from '../format.ts';

const shown = 8;

/** What is wrong with the rows of a dataset, line by line. @param convert set where the rows may be of another tool. */
export function datasetFaults(
  filename: string,
  { faults, total, convert }: { faults: readonly RowFault[]; total: number; convert: Child },
): TemplateResult {
  return html`<div class="panel-error" role="alert">
    <p class="panel-title">${nameText(filename)} has ${total === 1 ? 'a fault' : `${formatCount(total)} faults`}</p>
    <div class="scroll-box" tabindex="0" role="region" aria-label="Faults of the dataset">
      <table class="rows">
        <thead>
          <tr><th scope="col" class="right">Line</th><th scope="col">Field</th><th scope="col">What is wrong</th></tr>
        </thead>
        <tbody>
          ${faults.slice(0, shown).map(
            ({ line, field, message }) => html`<tr>
              <td class="right">${line ?? '–'}</td>
              <td><code>${field ?? '–'}</code></td>
              <td class="wrap"><bdi>${message.replace(/^Line \d+: /, '')}</bdi></td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${total > shown ? html`<p>And ${formatCount(total - shown)} more.</p>` : nothing}
    <p>Correct the lines and upload the file again; it replaces this one.</p>
    ${convert}
  </div>`;
}
