import { html, type TemplateResult } from 'lit';
import { settingLabel, settingText } from './setting-values.ts';

/** A run's settings with their labels and wire names. */
export function settingsTable(settings: Readonly<Record<string, unknown>>, label: string): TemplateResult {
  return html`<div class="scroll-box" tabindex="0" role="region" aria-label=${label}>
    <table class="pairs">
      <tbody>
        ${Object.entries(settings).map(
          ([name, value]) => html`<tr>
            <th scope="row">${settingLabel(name)} <code class="muted">${name}</code></th>
            <td class="wrap"><bdi>${settingText(value)}</bdi></td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
