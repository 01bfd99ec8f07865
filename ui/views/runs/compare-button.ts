import { html, nothing, type TemplateResult } from 'lit';
import { router } from '../../state/app.ts';

/** As many lines of a chart as can be told apart. */
export const comparedLimit = 6;

/** Opens the comparison of chosen runs. @param problem why these cannot be compared, if it is not their number. */
export function compareButton(jobIds: readonly string[], problem: string | null = null): TemplateResult {
  const wrongNumber =
    jobIds.length < 2
      ? 'Choose two or more'
      : jobIds.length > comparedLimit
        ? `At most ${comparedLimit} can be compared`
        : null;
  return html`<button
    type="button"
    class="small"
    ?disabled=${wrongNumber !== null || problem !== null}
    title=${problem ?? wrongNumber ?? nothing}
    @click=${() => router.go(`/training/compare?${jobIds.map((id) => `run=${encodeURIComponent(id)}`).join('&')}`)}
  >
    Compare
  </button>`;
}
