import { html, nothing, type TemplateResult } from 'lit';
import type { ServiceError } from '../api/request.ts';
import type { Child } from '../elements/child.ts';
import { serviceErrorPanel } from '../elements/parts.ts';

/** Whether the bin has no room for what was to be deleted, which is still there. */
export const isTooLargeForBin = (error: ServiceError | null): boolean => error?.status === 507;

/** What the dialog says that deletes something: where the bin cannot keep it, it asks again. */
export function deletion(options: {
  /** A run, a model. */
  readonly noun: string;
  readonly consequence: Child;
  readonly busy: boolean;
  readonly error: ServiceError | null;
  /** @param permanently whether it is deleted for good. */
  readonly remove: (permanently: boolean) => unknown;
  readonly close: () => unknown;
}): TemplateResult {
  const { noun, error, remove } = options;
  const isForGood = isTooLargeForBin(error);
  return html`${isForGood ? nothing : html`<p class="wrap">${options.consequence}</p>`}
    ${
      error === null
        ? nothing
        : isForGood
          ? html`<p class="warning wrap" role="alert">${error.message} This cannot be undone.</p>`
          : serviceErrorPanel(`Could not delete the ${noun}`, error)
    }
    <div class="row end">
      <button type="button" @click=${options.close}>Cancel</button>
      <button type="button" class="danger" ?disabled=${options.busy} @click=${() => remove(isForGood)}>
        ${isForGood ? 'Delete for good' : `Delete ${noun}`}
      </button>
    </div>`;
}
