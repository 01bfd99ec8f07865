import { html, nothing, type TemplateResult } from 'lit';
import type { RowFault } from '../../api/types.ts';
import type { Child } from '../../elements/child.ts';
import { formatCount } from '../../elements/format.ts';
import { nameText } from '../../elements/parts.ts';

const shown = 8;

/** The errors of a dataset by line. @param convert an offer to convert rows of another format. */
export function datasetFaults(
  filename: string,
  { faults, total, convert }: { faults: readonly RowFault[]; total: number; convert: Child },
): TemplateResult {
  return html`<div class="panel-error" role="alert">
    <p class="panel-title">${nameText(filename)} has ${total === 1 ? '1 error' : `${formatCount(total)} errors`}</p>
    <div class="scroll-box" tabindex="0" role="region" aria-label="Dataset errors">
      <table class="rows">
        <thead>
          <tr><th scope="col" class="right">Line</th><th scope="col">Field</th><th scope="col">Error</th></tr>
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
    <p>Fix these lines and upload the file again to replace it.</p>
    ${convert}
  </div>`;
}
