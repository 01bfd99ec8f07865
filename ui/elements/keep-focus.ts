import type { ReactiveController, ReactiveElement } from 'lit';

/**
 * Keeps the keyboard where it was when an update replaces the focused control of an element: the first one marked with
 * `data-next` gets the focus.
 */
export class KeepFocus implements ReactiveController {
  readonly #host: ReactiveElement;
  #hadFocus = false;

  constructor(host: ReactiveElement) {
    this.#host = host;
    host.addController(this);
  }

  hostUpdate(): void {
    this.#hadFocus = this.#host.contains(document.activeElement);
  }

  hostUpdated(): void {
    if (!this.#hadFocus || this.#host.contains(document.activeElement)) return;
    this.#host.querySelector<HTMLElement>('[data-next]')?.focus();
  }
}
