import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { request, type ServiceError } from '../api/request.ts';
import { serviceErrorPanel } from '../elements/parts.ts';
import { formatCount } from '../format.ts';
import { offers } from '../state/app.ts';
import { draft } from '../state/draft.ts';
import { asServiceError } from '../state/remote.ts';
import { Watch } from '../state/store.ts';

const previewRoute = 'POST /api/preview';

interface SeenToken {
  readonly text: string;
  /** Whether the model is trained to write it, rather than given it to read. */
  readonly trained: boolean;
}

interface SeenRow {
  readonly line: number;
  readonly tokens: readonly SeenToken[];
  readonly length: number;
  readonly truncated: boolean;
}

interface Seen {
  readonly rows: readonly SeenRow[];
  readonly max_seq_length: number;
  readonly longest: number;
  readonly truncated_rows: number;
  readonly total_rows: number;
}

/** What the model sees of the rows: tokens, which of them are learned, and what is cut off. */
@customElement('hone-row-view')
export class RowView extends LitElement {
  @state() private _seen: Seen | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _busy = false;

  constructor() {
    super();
    new Watch(this, draft, offers);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  private async _look(): Promise<void> {
    if (this._busy) return;
    this._busy = true;
    this._error = null;
    try {
      const { task, model, dataset, strategy, settings } = draft.value;
      const length = Number(settings.max_seq_length);
      this._seen = await request<Seen>('/api/preview', {
        method: 'POST',
        body: {
          task,
          strategy,
          model_name: model,
          dataset,
          ...(settings.max_seq_length ? { max_seq_length: length } : {}),
          ...(settings.use_chat_template ? { use_chat_template: settings.use_chat_template === 'on' } : {}),
        },
      });
    } catch (error) {
      this._error = asServiceError(error);
    } finally {
      this._busy = false;
    }
  }

  protected override render(): TemplateResult | typeof nothing {
    const { model, dataset } = draft.value;
    if (!offers.value.has(previewRoute) || dataset === '' || model === '') return nothing;
    return html`<details class="fold">
      <summary>What the model sees</summary>
      <p>
        <button type="button" class="small" ?disabled=${this._busy} @click=${this._look}>
          ${this._busy ? 'Reading…' : this._seen === null ? 'Show tokens' : 'Read again'}
        </button>
      </p>
      ${this._error === null ? nothing : serviceErrorPanel('The rows could not be shown', this._error)}
      ${this._seen === null ? nothing : seenRows(this._seen)}
    </details>`;
  }
}

function seenRows(seen: Seen): TemplateResult {
  const cut = seen.truncated_rows;
  return html`<p class="note">
      ${cut === 0 ? 'No row is' : `${formatCount(cut)} of ${formatCount(seen.total_rows)} rows are`} longer than
      ${formatCount(seen.max_seq_length)} tokens; the longest has ${formatCount(seen.longest)}.
      <span class="token" data-trained="yes">Marked</span> tokens are learned, the others only read.
    </p>
    ${seen.rows.map(
      (row) => html`<p class="tokens wrap" dir="auto">
        <small class="muted tabular">Line ${row.line}, ${formatCount(row.length)} tokens${row.truncated ? ', cut' : ''}</small>
        ${row.tokens.map(
          ({ text, trained }) =>
            html`<span class="token" data-trained=${trained ? 'yes' : 'no'}>${text}</span>`,
        )}
      </p>`,
    )}`;
}
