import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Preview } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import { readSettings } from '../../settings/setting-values.ts';
import { shapesFor } from '../../state/choice-words.ts';
import { draft } from '../../state/drafts/draft.ts';
import { asServiceError } from '../../state/remote.ts';
import { Watch } from '../../state/store.ts';
import { chatView } from './chat-view.ts';
import { tokenBox, tokenBoxes } from './token-boxes.ts';

const previewedRows = 10;
/** Settings that affect tokenization. */
const looked = ['max_seq_length', 'use_chat_template', 'thinking', 'tool_syntax'];

/** The first rows as tokens, one row at a time: which are trained on and which are truncated. */
@customElement('hone-row-view')
export class RowView extends LightElement {
  @state() private _seen: Preview | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _busy = false;
  /** The place of the row that is shown. */
  @state() private _place = 0;
  @state() private _hasBytes = false;
  private _of = '';

  constructor() {
    super();
    new Watch(this, draft);
  }

  private get _body() {
    const { task, model, strategy } = draft.value;
    return {
      ...readSettings(draft.value, looked),
      task,
      strategy,
      model_name: model.trim(),
      rows: previewedRows,
    };
  }

  protected override willUpdate(): void {
    const of = JSON.stringify([draft.value.dataset, this._body]);
    if (of === this._of) return;
    // The preview was of other rows, another model or another length.
    this._of = of;
    this._seen = null;
    this._error = null;
    this._place = 0;
  }

  private async _look(): Promise<void> {
    if (this._busy) return;
    this._busy = true;
    this._error = null;
    const of = this._of;
    try {
      const seen = await service.preview(draft.value.dataset, this._body);
      if (of === this._of) this._seen = seen;
    } catch (error) {
      if (of === this._of) this._error = asServiceError(error);
    } finally {
      this._busy = false;
    }
  }

  protected override render(): TemplateResult | typeof nothing {
    const { model, dataset } = draft.value;
    if (dataset === '' || model.trim() === '') return nothing;
    return html`<details class="fold">
      <summary>Token preview</summary>
      <p>
        <button type="button" class="small" ?disabled=${this._busy} @click=${this._look}>
          ${this._busy ? 'Loading…' : this._seen === null ? 'Show tokens' : 'Refresh'}
        </button>
      </p>
      ${this._error === null ? nothing : serviceErrorPanel('Could not tokenize the rows', this._error)}
      ${this._seen === null ? nothing : this._shown(this._seen)}
    </details>`;
  }

  private _shown({ rows, ...preview }: Preview): TemplateResult {
    const lines = [...new Set(rows.map(({ line }) => line))];
    const place = Math.min(this._place, lines.length - 1);
    const go = (to: number, label: string) => html`<button
      type="button"
      class="small"
      ?disabled=${lines[to] === undefined}
      @click=${() => {
        this._place = to;
      }}
    >
      ${label}
    </button>`;
    return html`${explanation(preview, shapesFor(draft.value)?.includes('preference') ?? false)}
      <div class="row wrap-row">
        ${go(place - 1, 'Previous row')} ${go(place + 1, 'Next row')}
        <label class="check">
          <input
            type="checkbox"
            .checked=${this._hasBytes}
            @change=${(event: Event) => {
              this._hasBytes = (event.target as HTMLInputElement).checked;
            }}
          />
          IDs and bytes
        </label>
      </div>
      ${rows
        .filter(({ line }) => line === lines[place])
        .map((sequence, index) => seenSequence(sequence, index, this._hasBytes))}`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-row-view': RowView;
  }
}

/** What a run does with reasoning, where it matters. */
const thinkingWords: Readonly<Record<NonNullable<Preview['thinking']>, string>> = {
  keep: '',
  off: 'Thinking is off.',
  learn: 'The reasoning of answers is learned.',
};

/** @param hasPairs whether the rows are preferences. */
function explanation(
  { max_seq_length, thinking, warning }: Omit<Preview, 'rows'>,
  hasPairs: boolean,
): TemplateResult {
  return html`<p class="note">
      The model is trained on the <span class="token" data-kind="learned">highlighted</span> tokens; plain ones are
      context. <span class="token" data-kind="cut">Struck-through</span> tokens exceed the limit of
      ${formatCount(max_seq_length)} and are truncated. Tokens that share a character are one box.
      ${thinking === null ? nothing : thinkingWords[thinking]}
      ${hasPairs ? 'Each row is shown with its chosen answer; the rejected one is compared with it. Rows that exceed the limit with either answer are left out.' : nothing}
    </p>
    ${warning === null ? nothing : html`<p class="warning wrap"><bdi>${warning}</bdi></p>`}`;
}

/** @param before how many sequences of the same row are shown already. */
function seenSequence(
  { line, messages, tokens, total_tokens, labelled_tokens }: Preview['rows'][number],
  before: number,
  hasBytes: boolean,
): TemplateResult {
  return html`<div class="seen-row">
    <small class="muted tabular">
      Line ${formatCount(line)}${before === 0 ? '' : `, sequence ${before + 1}`}: ${formatCount(total_tokens)} tokens,
      ${formatCount(labelled_tokens)} trained on
    </small>
    ${messages === null || before > 0 ? nothing : chatView(messages)}
    <p class="tokens wrap">
      <bdi>${tokenBoxes(tokens).map((box) => tokenBox(box, hasBytes))}</bdi>
    </p>
  </div>`;
}
