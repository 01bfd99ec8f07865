import { html, type TemplateResult } from 'lit';
import type { Child } from './child.ts';

/**
 * A button that opens a menu, which Escape, and a click or the focus elsewhere, close.
 * @param sign is shown in place of the label.
 */
export function menu(label: string, content: Child, sign?: TemplateResult): TemplateResult {
  return html`<details class="menu">
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

/**
 * Closes open menus at a press or focus outside of them, and at Escape, wherever the focus is. Called once by the page: a menu
 * tells later than a key may be pressed that it is open.
 */
export function closeMenus(): void {
  const opened = () => document.querySelectorAll<HTMLDetailsElement>('details.menu[open]');
  const closeUnless = (isKept: (menu: HTMLDetailsElement) => boolean) => {
    for (const one of opened()) if (!isKept(one)) one.open = false;
  };
  document.addEventListener('pointerdown', ({ target }) =>
    closeUnless((one) => one.contains(target as Node)),
  );
  document.addEventListener('focusin', ({ target }) => {
    const focused = target as Node;
    // A press on a label in the menu focuses what is around the menu.
    closeUnless((one) => one.contains(focused) || focused.contains(one));
  });
  document.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return;
    for (const one of opened()) {
      one.open = false;
      one.querySelector('summary')?.focus();
    }
  });
}
