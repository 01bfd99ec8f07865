import { html, type TemplateResult } from 'lit';
import { menu } from '../../elements/menu.ts';
import { info } from '../../state/app.ts';

/** Documentation, troubleshooting, shortcuts, version and licence. */
export function helpMenu(showShortcuts: () => void): TemplateResult {
  const closed =
    (act: () => void = () => undefined) =>
    (event: Event) => {
      (event.currentTarget as HTMLElement).closest('details')?.removeAttribute('open');
      act();
    };
  return menu(
    'Help',
    html`<div class="menu-body">
      <a href="/help" @click=${closed()}>Documentation and troubleshooting</a>
      <a href="/api/docs">API reference</a>
      <button type="button" class="link" @click=${closed(showShortcuts)}>Keyboard shortcuts</button>
      <p class="muted">Hone ${info.value.value?.version ?? ''} · Apache License 2.0</p>
    </div>`,
    html`<span class="help-sign" aria-hidden="true">?</span>`,
  );
}
