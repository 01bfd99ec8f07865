import { html, type TemplateResult } from 'lit';
import type { ChartGroup } from './chart-group.ts';

/** Buttons that zoom and move what charts show. */
export function zoomTools(group: ChartGroup, label: string): TemplateResult {
  return html`<div class="chart-tools" role="group" aria-label=${label}>
    ${tool('Pan left', '‹', () => group.pan(-1))} ${tool('Pan right', '›', () => group.pan(1))}
    ${tool('Zoom in', '+', () => group.scale(1))} ${tool('Zoom out', '−', () => group.scale(-1))}
    ${tool('Reset zoom', '⤢', () => group.reset())}
  </div>`;
}

function tool(label: string, sign: string, act: () => void): TemplateResult {
  return html`<button type="button" class="tool" aria-label=${label} title=${label} @click=${act}>
    <span aria-hidden="true">${sign}</span>
  </button>`;
}
