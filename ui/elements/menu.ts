import { html, type TemplateResult } from 'lit';
import type { Child } from './child.ts';

/**
 * A button that opens a menu, which Escape, and a click or the focus elsewhere, close.
 * @param sign is shown in place of the label.
 */
export function menu(label: string, content: Child, sign?: TemplateResult): TemplateResult {
  return html`<details class="menu" @toggle=${watch}>
    ${
      sign === undefined
        ? html`<summary class="button small">${label}</summary>`
        : html`<summary class="tool-link" aria-label=${label} title=${label}>${sign}</summary>`
    }
    ${content}
  </details>`;
}

/** Closes the menu that something was chosen in. */
export const closeMenu = ({ currentTarget: chosen }: Event) =>
  (chosen as HTMLElement).closest('details')?.removeAttribute('open');

/** A choice of a menu, which it closes. */
export const menuItem = (name: string, act: () => void): TemplateResult => html`<button
  type="button"
  class="tool"
  @click=${(event: Event) => {
    closeMenu(event);
    act();
  }}
>
  ${name}
</button>`;

/** Closes an open menu at the first press or focus outside of it, or at Escape, wherever the focus is. */
function watch(event: Event): void {
  const opened = event.currentTarget as HTMLDetailsElement;
  if (!opened.open) return;
  const closed = new AbortController();
  const { signal } = closed;
  opened.addEventListener('toggle', () => closed.abort(), { once: true });
  const isOutside = ({ target }: Event) => !opened.contains(target as Node);
  const close = () => {
    opened.open = false;
  };
  document.addEventListener('pointerdown', (pressed) => isOutside(pressed) && close(), { signal });
  document.addEventListener(
    'focusin',
    (focused) => {
      // A press on a label in the menu focuses what is around the menu.
      const isAround = (focused.target as Node).contains(opened);
      if (isOutside(focused) && !isAround) close();
    },
    { signal },
  );
  document.addEventListener(
    'keydown',
    ({ key }) => {
      if (key !== 'Escape') return;
      close();
      opened.querySelector('summary')?.focus();
    },
    { signal },
  );
}
