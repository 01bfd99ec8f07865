import type { ReactiveController, ReactiveControllerHost } from 'lit';

/** Does something again and again while an element is on the page and somebody can see it. */
export class Every implements ReactiveController {
  readonly #ms: number;
  readonly #act: () => void;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(host: ReactiveControllerHost, ms: number, act: () => void) {
    this.#ms = ms;
    this.#act = act;
    host.addController(this);
  }

  hostConnected(): void {
    this.#timer = setInterval(() => {
      if (document.visibilityState === 'visible') this.#act();
    }, this.#ms);
  }

  hostDisconnected(): void {
    clearInterval(this.#timer);
  }
}
