import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { LightElement } from '../../elements/light-element.ts';
import { info, router, toasts } from '../../state/app.ts';
import { Watch } from '../../state/store.ts';
import '../../elements/connection-badge.ts';
import { helpMenu } from './help-menu.ts';
import { listenToKeys, type Opened, paletteKeys } from './keys.ts';
import { newMenu } from './new-menu.ts';

const sections = [
  { name: 'Training', path: '/training/runs', first: 'training' },
  { name: 'Models', path: '/models', first: 'models' },
  { name: 'Playground', path: '/playground', first: 'playground' },
] as const;

const sectionsOf: Readonly<Record<string, string>> = { datasets: 'training', traffic: 'playground' };
/** The section that an address belongs to: datasets are among the pages of trainings, kept answers beside the playground. */
const sectionOf = (first: string | undefined) => sectionsOf[first ?? ''] ?? first;

/** The header of every page: sections, what can be started, connection, search, help and settings. */
@customElement('hone-header')
export class Header extends LightElement {
  @state() private _opened: Opened | null = null;
  private _connected = new AbortController();

  constructor() {
    super();
    new Watch(this, info, router);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._connected = new AbortController();
    listenToKeys((what) => void this._open(what), this._connected.signal);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._connected.abort();
  }

  /** Opens a dialog, unless one is open. */
  private async _open(what: Opened): Promise<void> {
    try {
      await import('./dialogs.ts');
      if (document.querySelector('dialog[open]') === null) this._opened ??= what;
    } catch {
      toasts.show('This could not be loaded. Reload the page to try again.', 'error');
    }
  }

  private readonly _dismiss = (): void => {
    this._opened = null;
  };

  protected override render(): TemplateResult {
    const [first] = router.value.segments;
    return html`<header class="top">
        <a class="brand" href="/" aria-label="Hone, dashboard" title="Dashboard" aria-current=${first === undefined ? 'page' : nothing}>
          <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
            <rect width="32" height="32" rx="7" class="brand-ground"></rect>
            <path d="M7 21.5 25 9v4.6L11.4 23H7z" class="brand-blade"></path>
            <path d="M7 25.5h18" class="brand-stone"></path>
          </svg>
          <span>Hone</span>
        </a>
        <div class="sections">
          <nav class="tabs" aria-label="Main">
            ${sections.map(
              ({ name, path, first: own }) =>
                html`<a href=${path} aria-current=${own === sectionOf(first) ? 'page' : nothing}>${name}</a>`,
            )}
          </nav>
          ${newMenu()}
        </div>
        <div class="top-end">
          <hone-connection></hone-connection>
          <button type="button" class="tool" aria-label="Search" title="Search (${paletteKeys.join(' ')})" @click=${() => void this._open('palette')}>
            <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
              <path d="M7 1.5a5.5 5.5 0 1 0 3.4 9.8l3.4 3.4 1-1-3.4-3.4A5.5 5.5 0 0 0 7 1.5zm0 1.5a4 4 0 1 1 0 8 4 4 0 0 1 0-8z"></path>
            </svg>
          </button>
          ${helpMenu(() => void this._open('shortcuts'))}
          <a class="tool-link" href="/settings" aria-label="Settings" title="Settings" aria-current=${first === 'settings' ? 'page' : nothing}>
            <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
              <path fill-rule="evenodd" d="M6.8 1h2.4l.4 1.9 1.2.5L12.4 2.3 14 4l-1.1 1.6.5 1.2L15 7v2l-1.6.3-.5 1.2L14 12l-1.6 1.7-1.6-1.1-1.2.5L9.2 15H6.8l-.4-1.9-1.2-.5L3.6 13.7 2 12l1.1-1.5-.5-1.2L1 9V7l1.6-.2.5-1.2L2 4l1.6-1.7 1.6 1.1 1.2-.5zM8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z"></path>
            </svg>
          </a>
        </div>
      </header>
      ${this._opened === 'palette' ? html`<hone-palette @dismiss=${this._dismiss}></hone-palette>` : nothing}
      ${this._opened === 'shortcuts' ? html`<hone-shortcuts @dismiss=${this._dismiss}></hone-shortcuts>` : nothing}`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-header': Header;
  }
}
