import { html, type TemplateResult } from 'lit';

/** Copies the address of the page that is shown, which is the last of its actions. */
export const copyLink = (): TemplateResult =>
  html`<hone-copy .text=${() => location.origin + location.pathname + location.search} label="Copy link"></hone-copy>`;
