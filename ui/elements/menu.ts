import { html, type TemplateResult } from 'lit';
import type { Child } from './child.ts';

/** A button that opens a menu, which Escape and a click elsewhere close. */
export function menu(label: string, content: Child): TemplateResult {
  return html`<details class="menu" @toggle=${watch} @keydown=${closeByKey}>
    <summary class="button small">${label}</summary>
    ${content}
  </details>`;
}

/** Closes an open menu at the first press outside of it. */
function watch(event: Event): void {
  const opened = event.currentTarget as HTMLDetailsElement;
  if (!opened.open) return;
  const closed = new AbortController();
  const { signal } = closed;
  opened.addEventListener('toggle', () => closed.abort(), { once: true });
  const close = ({ target }: PointerEvent): void => {
    if (!opened.contains(target as Node)) opened.open = false;
  };
  document.addEventListener('pointerdown', close, { signal });
}

function closeByKey(event: KeyboardEvent): void {
  const opened = event.currentTarget as HTMLDetailsElement;
  if (event.key !== 'Escape' || !opened.open) return;
  event.stopPropagation();
  opened.open = false;
  opened.querySelector('summary')?.focus();
}
