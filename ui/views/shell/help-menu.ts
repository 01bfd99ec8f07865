import { html, type TemplateResult } from 'lit';
import { closeMenu, menu, menuItem } from '../../elements/menu.ts';
import { info } from '../../state/app.ts';

/** Documentation, troubleshooting, shortcuts, version and licence. */
export function helpMenu(showShortcuts: () => void): TemplateResult {
  return menu(
    'Help',
    html`<div class="menu-body">
      <a href="/help" @click=${closeMenu}>Documentation and troubleshooting</a>
      <a href="/api/docs">API reference</a>
      ${menuItem('Keyboard shortcuts', showShortcuts)}
      <p class="muted">Hone ${info.value.value?.version ?? ''} · Apache License 2.0</p>
    </div>`,
    html`<span class="help-sign" aria-hidden="true">?</span>`,
  );
}
