import { html, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import './bin.ts';
import './hub-token.ts';
import './judge-keys.ts';
import { formatNumber } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { figure, option, skeleton } from '../../elements/parts.ts';
import { hardware, info } from '../../state/app.ts';
import { endNotices } from '../../state/end-notices.ts';
import { Reread } from '../../state/remote.ts';
import { session } from '../../state/session.ts';
import { singleKeys } from '../../state/single-keys.ts';
import { Watch } from '../../state/store.ts';
import { type Theme, theme } from '../../state/theme.ts';
import { endNoticeButton } from '../../views/end-notice-button.ts';
import { singleKeySwitch } from '../../views/shell/single-key-switch.ts';

const themes: readonly (readonly [Theme, string, string])[] = [
  ['system', 'System', 'Follows this device'],
  ['light', 'Light', ''],
  ['dark', 'Dark', ''],
];

/** What can be set in this browser, and what was set where the service was started. */
@customElement('hone-settings')
export class SettingsPage extends LightElement {
  constructor() {
    super();
    new Watch(this, endNotices, info, session, singleKeys, theme);
    new Reread(this, hardware);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    info.ensure();
  }

  protected override render(): TemplateResult {
    return html`<div class="page">
      <h1>Settings</h1>
      <section class="card" aria-labelledby="appearance">
        <h2 id="appearance">Appearance</h2>
        <div class="options" role="radiogroup" aria-labelledby="appearance">
          ${themes.map(([value, name, sentence]) =>
            option('theme', value, name, sentence, theme.value === value, () => theme.choose(value)),
          )}
        </div>
      </section>
      <section class="card" aria-labelledby="notifications">
        <h2 id="notifications">Notifications</h2>
        ${
          endNotices.value === 'missing'
            ? html`<p class="muted">This browser shows notifications only for pages over HTTPS or on this machine.</p>`
            : html`<p class="muted">Shown when a run ends while this page is in a hidden tab.</p>`
        }
        ${endNoticeButton()}
      </section>
      <section class="card" aria-labelledby="keyboard">
        <h2 id="keyboard">Keyboard</h2>
        ${singleKeySwitch()}
        <p class="muted">Press <kbd>?</kbd> for the list. It is in the help menu, too.</p>
      </section>
      <section class="card" aria-labelledby="access">
        <h2 id="access">Access</h2>
        <p>
          ${session.value.value?.key_needed ? 'This service requires an access key.' : 'No access key is required.'}
          <a href="/access">Manage access keys</a>
        </p>
      </section>
      <section class="card" aria-labelledby="hub">
        <h2 id="hub">Hub</h2>
        <hone-hub-token></hone-hub-token>
      </section>
      <section class="card" aria-labelledby="judges">
        <h2 id="judges">Judges</h2>
        <hone-judge-keys></hone-judge-keys>
      </section>
      <section class="card" aria-labelledby="bin">
        <h2 id="bin">Bin</h2>
        <hone-bin></hone-bin>
      </section>
      <section class="card" aria-labelledby="service">
        <h2 id="service">This service</h2>
        ${this._service()}
      </section>
    </div>`;
  }

  private _service(): TemplateResult {
    const { value, error } = info.value;
    if (value === null)
      return error === null ? skeleton(4) : html`<p class="muted">The service did not answer.</p>`;
    const disk = hardware.value.value?.disk_space_gb;
    return html`<dl class="facts">
        ${figure('Data folder', html`<bdi class="wrap">${value.data_dir ?? 'Shown only on the machine of the service'}</bdi>`)}
        ${figure('Free disk space', disk === undefined ? '…' : `${formatNumber(disk)} GB`)}
        ${figure('HTTP', value.http.description)}
        ${figure('Version', value.version)}
        ${figure('Licence', 'Apache 2.0')}
      </dl>
      <p class="muted">To use another folder, set <code>SERVICE_DATA_DIR</code> before you start the service.</p>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-settings': SettingsPage;
  }
}
