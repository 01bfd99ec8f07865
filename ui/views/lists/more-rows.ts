import {
  html,
  nothing,
  type ReactiveController,
  type ReactiveControllerHost,
  type TemplateResult,
} from 'lit';

/** Shows more rows of a list once its end is in sight, or at a click. */
export class MoreRows implements ReactiveController {
  readonly #host: ReactiveControllerHost & Element;
  readonly #more: () => void;
  readonly #watcher: IntersectionObserver;

  constructor(host: ReactiveControllerHost & Element, more: () => void) {
    this.#host = host;
    this.#more = more;
    this.#watcher = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) more();
    });
    host.addController(this);
  }

  hostUpdated(): void {
    this.#watcher.disconnect();
    const button = this.#host.querySelector('.more button:not(:disabled)');
    if (button !== null) this.#watcher.observe(button);
  }

  hostDisconnected(): void {
    this.#watcher.disconnect();
  }

  /** The end of a list. @param isLoading while they are on their way. */
  end(hasMore: boolean, isLoading = false): TemplateResult | typeof nothing {
    if (!hasMore) return nothing;
    return html`<p class="more">
      <button type="button" ?disabled=${isLoading} @click=${this.#more}>${isLoading ? 'Loading…' : 'Load more'}</button>
    </p>`;
  }
}
