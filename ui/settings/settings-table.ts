import { html, type TemplateResult } from 'lit';
import { settingLabel, settingText } from './setting-values.ts';

/** Something else that a run was started with, and what it is called in the API. */
export interface RunFact {
  readonly name: string;
  readonly label: string;
  readonly text: string;
}

/** A run's settings with their labels and wire names. @param facts are shown before them. */
export function settingsTable(
  settings: Readonly<Record<string, unknown>>,
  label: string,
  facts: readonly RunFact[] = [],
): TemplateResult {
  const all = Object.entries(settings).map(([name, value]) => ({
    name,
    label: settingLabel(name),
    text: settingText(value),
  }));
  return html`<div class="scroll-box" tabindex="0" role="region" aria-label=${label}>
    <table class="pairs">
      <tbody>
        ${[...facts, ...all].map(
          ({ name, label, text }) => html`<tr>
            <th scope="row">${label} <code class="muted">${name}</code></th>
            <td class="wrap"><bdi>${text}</bdi></td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
