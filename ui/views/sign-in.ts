import { html, nothing, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { LightElement } from '../elements/light-element.ts';
import { Action } from '../state/action.ts';
import { isSignInNeeded, session, signIn, signInFault } from '../state/session.ts';
import { Watch } from '../state/store.ts';

/** Asks for an access key, above the page, which stays as it is and goes on after the sign-in. */
@customElement('hone-sign-in')
export class SignIn extends LightElement {
  private readonly _action = new Action(this);
  private _unsubscribe: (() => void) | null = null;

  constructor() {
    super();
    new Watch(this, signInFault);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._unsubscribe = session.subscribe(() => {
      // Gives the focus back to where it was, which only removing the dialog does not.
      if (!isSignInNeeded()) this.querySelector('dialog')?.close();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unsubscribe?.();
  }

  protected override firstUpdated(): void {
    this.querySelector('dialog')?.showModal();
  }

  private async _submit(event: Event): Promise<void> {
    event.preventDefault();
    const input = this.querySelector<HTMLInputElement>('#access-key');
    const key = input?.value.trim() ?? '';
    if (key === '') return;
    await this._action.run(async () => {
      await signIn(key);
      signInFault.set(null);
    });
    if (this._action.error === null) return;
    signInFault.set(this._action.error.message);
    input?.select();
  }

  /** A second Escape closes a dialog whatever its page says. */
  private _closed(): void {
    if (isSignInNeeded()) this.querySelector('dialog')?.showModal();
  }

  protected override render(): TemplateResult {
    const fault = signInFault.value;
    return html`<dialog
      class="sign-in"
      aria-labelledby="sign-in"
      @cancel=${(event: Event) => event.preventDefault()}
      @close=${this._closed}
    >
      <div class="dialog-body">
        <h1 id="sign-in">Sign in to Hone</h1>
        <p class="muted">
          Enter an access key of this service. To make one, run <code>hone key add NAME</code> on its machine.
        </p>
        <form @submit=${this._submit}>
          <input type="text" name="username" autocomplete="username" value="hone" hidden />
          <div class="field">
            <label for="access-key">Access key</label>
            <input
              id="access-key"
              type="password"
              name="password"
              class="mono"
              autocomplete="current-password"
              spellcheck="false"
              required
              autofocus
              aria-invalid=${fault === null ? nothing : 'true'}
              aria-describedby=${fault === null ? nothing : 'access-key-fault'}
            />
            ${fault === null ? nothing : html`<p class="fault wrap" id="access-key-fault" role="alert">${fault}</p>`}
          </div>
          <button type="submit" class="primary wide" ?disabled=${this._action.busy}>
            ${this._action.busy ? 'Signing in…' : 'Sign in'}
          </button>
        </form>
      </div>
    </dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-sign-in': SignIn;
  }
}
