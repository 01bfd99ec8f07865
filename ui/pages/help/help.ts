import { html, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { failures } from '../../../src/contract/failures.ts';
import { LightElement } from '../../elements/light-element.ts';
import { errorPanel, skeleton } from '../../elements/parts.ts';
import { router } from '../../state/app.ts';
import { Watch } from '../../state/store.ts';
import '../../elements/markdown/markdown.ts';

/** Where to read on, and what each failure code means; `?code=` unfolds one. */
@customElement('hone-help')
export class Help extends LightElement {
  @state() private _failures: typeof failures | null = null;
  @state() private _isMissing = false;

  constructor() {
    super();
    new Watch(this, router);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    import('../../../src/contract/failures.ts').then(
      (read) => {
        this._failures = read.failures;
      },
      () => {
        this._isMissing = true;
      },
    );
  }

  protected override render(): TemplateResult {
    return html`<div class="page">
      <h1>Help</h1>
      <section class="card" aria-labelledby="documentation">
        <h2 id="documentation">Documentation</h2>
        <p>
          The <a href="/api/docs">API reference</a> describes every endpoint of this service, with examples. Its
          <a href="/api/openapi.json">OpenAPI document</a> is for programs.
        </p>
        <p>
          Guides are in the folder <code>docs</code> of the installation, beginning with <code>docs/README.md</code>: data and
          conversations, OpenAI's fine-tuning API, workers, troubleshooting.
        </p>
      </section>
      <section class="card" aria-labelledby="troubleshooting">
        <h2 id="troubleshooting">Troubleshooting</h2>
        <p class="muted">
          A run that fails has a code. <code>npm run doctor</code> checks each part of the installation.
        </p>
        ${this._codes()}
      </section>
    </div>`;
  }

  private _codes(): TemplateResult {
    if (this._isMissing)
      return errorPanel({ title: 'Could not load the codes', cause: 'Reload the page to try again.' });
    if (this._failures === null) return skeleton(12);
    const asked = router.value.query.get('code');
    return html`${Object.entries(this._failures).map(
      ([code, { message, help }]) => html`<details class="fold" ?open=${code === asked}>
        <summary><span><code>${code}</code> <span class="muted">${message}</span></span></summary>
        <hone-markdown .text=${help.join('\n\n')}></hone-markdown>
      </details>`,
    )}`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-help': Help;
  }
}
