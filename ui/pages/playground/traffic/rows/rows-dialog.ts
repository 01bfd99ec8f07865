import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { RowShape } from '../../../../../src/contract/rows.ts';
import type { ServiceError } from '../../../../api/request.ts';
import { type AnswerRowsBody, service } from '../../../../api/service.ts';
import type { AnswerRowCounts } from '../../../../api/types.ts';
import { checkField, selectField, textField } from '../../../../elements/fields.ts';
import { formatCount } from '../../../../elements/format.ts';
import { LightElement } from '../../../../elements/light-element.ts';
import { nameText, serviceErrorPanel } from '../../../../elements/parts.ts';
import { Action } from '../../../../state/action.ts';
import { datasets, router } from '../../../../state/app.ts';
import { draft } from '../../../../state/drafts/draft.ts';
import { asServiceError, Reread } from '../../../../state/remote.ts';
import { datasetPath } from '../../../../state/router.ts';
import { likeView } from './like-view.ts';
import { maskedView } from './masked-view.ts';
import '../../../../elements/dialog.ts';

type Kind = AnswerRowsBody['kind'];

/** What rows of a kind are for, and their shape. */
const kinds: Readonly<
  Record<Kind, { readonly words: string; readonly hint: string; readonly shape: RowShape }>
> = {
  sft: {
    words: 'Conversations (sft)',
    hint: 'What was said, or its correction. Answers that are rated bad and not corrected are left out.',
    shape: 'messages',
  },
  preference: {
    words: 'Preferences (dpo)',
    hint: 'The correction is preferred to what was said.',
    shape: 'preference',
  },
  kto: {
    words: 'Labelled answers (kto)',
    hint: 'Rated answers, with good or bad as their label.',
    shape: 'unpaired-preference',
  },
};
const kindNames = Object.keys(kinds) as Kind[];

/** Why no row is made of some answers, as what follows their number. */
const reasons: Readonly<Record<keyof AnswerRowCounts['skipped'], string>> = {
  no_correction: 'without a correction',
  unrated: 'without a rating',
  rated_down: 'rated bad and not corrected',
  cut_off: 'cut off at the limit of tokens',
  no_text: 'empty, or equal to their correction',
  duplicate: 'the same as another',
  near_duplicate: 'nearly the same as another',
  overlap: 'with a question of the validation dataset',
};
const ending = '.jsonl';

/** The dialog that makes rows of kept answers. Fires `dismiss` when it is closed. */
@customElement('hone-answer-rows')
export class AnswerRows extends LightElement {
  /** Which answers: a filter, or their IDs. */
  @property({ attribute: false }) of: Omit<AnswerRowsBody, 'kind'> = {};
  /** The same in words. */
  @property() from = '';
  @state() private _kind: Kind = 'sft';
  /** A dataset that is there; empty for a new one. */
  @state() private _chosen = '';
  @state() private _name = 'answers';
  /** The dataset that models are measured on; empty for none. */
  @state() private _validation = '';
  @state() private _keepsOverlap = false;
  @state() private _keepsNear = true;
  @state() private _masks = false;
  @state() private _counts: AnswerRowCounts | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _made: { readonly name: string; readonly added: number; readonly rows: number } | null =
    null;
  private readonly _action = new Action(this);
  private _asking = new AbortController();

  constructor() {
    super();
    new Reread(this, datasets);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this._count();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._asking.abort();
  }

  private get _body(): AnswerRowsBody {
    return {
      ...this.of,
      kind: this._kind,
      near_duplicates: this._keepsNear ? 'keep' : 'leave_out',
      validation_dataset: this._validation === '' ? undefined : this._validation,
      overlap: this._keepsOverlap ? 'keep' : 'leave_out',
      mask: this._masks,
    };
  }

  private async _count(): Promise<void> {
    // The properties are set after the element is connected.
    await this.updateComplete;
    this._asking.abort();
    const asking = new AbortController();
    this._asking = asking;
    this._counts = null;
    this._error = null;
    try {
      const counts = await service.countAnswerRows(this._body, asking.signal);
      if (asking === this._asking) this._counts = counts;
    } catch (error) {
      if (asking === this._asking && !asking.signal.aborted) this._error = asServiceError(error);
    }
  }

  private async _make(name: string): Promise<void> {
    await this._action.run(async () => {
      const { filename, added, num_examples: rows } = await service.makeAnswerRows(name, this._body);
      this._made = { name: filename, added, rows };
    });
    void datasets.refresh();
  }

  private _train(name: string): void {
    draft.change({ dataset: name });
    this.querySelector('dialog')?.close();
    router.go('/training');
  }

  protected override render(): TemplateResult {
    return html`<hone-dialog
      heading="Make rows"
      .content=${this._made === null ? this._form() : this._done(this._made)}
    ></hone-dialog>`;
  }

  private _form(): TemplateResult {
    const { shape, hint } = kinds[this._kind];
    const fitting = (datasets.value.value ?? []).filter((one) => one.shape === shape);
    const chosen = fitting.find(({ filename }) => filename === this._chosen);
    const name = chosen?.filename ?? `${this._name.trim()}${ending}`;
    const rows = this._counts?.rows ?? 0;
    const isPossible = rows > 0 && name !== ending && !this._action.busy;
    const submit = (event: Event) => {
      event.preventDefault();
      if (isPossible) void this._make(name);
    };
    return html`<form class="column" @submit=${submit}>
      <p class="wrap muted">Of ${this.from}.</p>
      ${selectField(
        {
          name: 'Format',
          id: 'rows-kind',
          value: this._kind,
          choices: kindNames.map((kind) => [kind, kinds[kind].words] as const),
        },
        (kind) => {
          this._kind = kind as Kind;
          void this._count();
        },
      )}
      <p class="hint">${hint}</p>
      ${selectField(
        {
          name: 'Dataset',
          id: 'rows-dataset',
          value: chosen?.filename ?? '',
          choices: fitting.map(({ filename }) => [filename, filename] as const),
          empty: 'New dataset…',
        },
        (chosenName) => {
          this._chosen = chosenName;
        },
      )}
      ${
        chosen === undefined
          ? textField({ name: 'Name', id: 'rows-name', value: this._name, maxLength: 90 }, (text) => {
              this._name = text;
            })
          : nothing
      }
      ${this._comparison()} ${this._masking()} ${this._counted()}
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not make the rows', this._action.error)}
      <div class="row end">
        <button type="button" @click=${() => this.querySelector('dialog')?.close()}>Cancel</button>
        <button type="submit" class="primary" ?disabled=${!isPossible}>
          ${rows === 1 ? 'Make 1 row' : `Make ${formatCount(rows)} rows`}
        </button>
      </div>
    </form>`;
  }

  private _recount(change: () => void): void {
    change();
    void this._count();
  }

  private _masking(): TemplateResult {
    const field = checkField('Mask personal data', this._masks, (on) =>
      this._recount(() => {
        this._masks = on;
      }),
    );
    return html`${field} ${maskedView(this._counts?.masked ?? null, this._masks ? this._error : null)}`;
  }

  private _comparison(): TemplateResult {
    const names = (datasets.value.value ?? []).map(({ filename }) => [filename, filename] as const);
    const { near_duplicates: near, overlap } = this._counts ?? {};
    const leaveNear = checkField('Leave out near duplicates', !this._keepsNear, (on) =>
      this._recount(() => {
        this._keepsNear = !on;
      }),
    );
    const leaveOverlap = checkField('Leave out rows with a question of it', !this._keepsOverlap, (on) =>
      this._recount(() => {
        this._keepsOverlap = !on;
      }),
    );
    return html`${selectField(
      {
        name: 'Validation dataset',
        id: 'rows-validation',
        value: this._validation,
        choices: names,
        empty: 'None to compare with',
      },
      (name) =>
        this._recount(() => {
          this._validation = name;
        }),
    )}
    ${this._validation === '' ? nothing : leaveOverlap} ${leaveNear}
    ${near === undefined ? nothing : likeView(['is nearly the same as another row', 'are nearly the same as another row'], near)}
    ${overlap == null ? nothing : likeView([`has a question of ${overlap.dataset}`, `have a question of ${overlap.dataset}`], overlap)}
    ${overlap == null || overlap.complete ? nothing : html`<p class="hint">Only ${formatCount(overlap.compared_rows)} rows of ${nameText(overlap.dataset)} were compared.</p>`}`;
  }

  private _counted(): TemplateResult {
    if (this._error !== null) return serviceErrorPanel('Could not count the rows', this._error);
    if (this._counts === null) return html`<p class="hint" role="status">Counting…</p>`;
    const { rows, skipped, capped } = this._counts;
    const without = Object.entries(skipped).filter(([, count]) => count > 0) as [
      keyof typeof skipped,
      number,
    ][];
    return html`<div role="status">
      <p><b>${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'}</b></p>
      ${
        without.length === 0
          ? nothing
          : html`<p class="hint">Left out: ${without.map(([reason, count]) => `${formatCount(count)} ${reasons[reason]}`).join(', ')}.</p>`
      }
      ${capped ? html`<p class="hint">Rows are made of the oldest 20,000 answers. Filter them to reach the others.</p>` : nothing}
    </div>`;
  }

  private _done({ name, added, rows }: NonNullable<typeof this._made>): TemplateResult {
    const close = () => this.querySelector('dialog')?.close();
    return html`<p class="wrap" role="status">
        ${added === 1 ? '1 row was' : `${formatCount(added)} rows were`} added to ${nameText(name)}, which has
        ${formatCount(rows)} now.
      </p>
      <div class="row end wrap-row">
        <a class="button" href=${datasetPath(name)} @click=${close}>Show the dataset</a>
        <button type="button" class="primary" @click=${() => this._train(name)}>New training with it</button>
      </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-answer-rows': AnswerRows;
  }
}
