import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { ServiceError } from '../api/request.ts';
import { service } from '../api/service.ts';
import type { CheckedModel, RecommendedModels } from '../api/types.ts';
import { nameText, option, serviceErrorPanel, skeleton } from '../elements/parts.ts';
import { formatBytes, formatCount } from '../format.ts';
import { models } from '../state/app.ts';
import { draft } from '../state/draft.ts';
import { profileName } from '../state/job-words.ts';
import { asServiceError } from '../state/remote.ts';
import { Watch } from '../state/store.ts';

const typingPauseMs = 450;

/** What the service may tell of a recommendation beyond its name. */
interface Reason {
  readonly model: string;
  readonly why?: string;
  readonly parameters_billion?: number;
  readonly licence?: string;
  readonly memory_bytes?: number;
}

type Check =
  | { readonly state: 'asking' }
  | { readonly state: 'good'; readonly answer: CheckedModel }
  | { readonly state: 'bad'; readonly error: ServiceError };

/** The base model: one of the recommended, or any other, asked about while it is being typed. */
@customElement('hone-model-picker')
export class ModelPicker extends LitElement {
  @state() private _recommended: (RecommendedModels & { readonly reasons?: readonly Reason[] }) | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _check: Check | null = null;
  private _task = '';
  private _asked = '';
  private _timer: ReturnType<typeof setTimeout> | null = null;
  private _asking: AbortController | null = null;

  constructor() {
    super();
    new Watch(this, draft, models);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this._timer !== null) clearTimeout(this._timer);
    this._asking?.abort();
    this._asked = '';
  }

  protected override willUpdate(): void {
    const { task, model } = draft.value;
    if (task !== this._task) {
      this._task = task;
      void this._recommend(task);
    }
    if (model.trim() !== this._asked) this._ask(model.trim());
  }

  private async _recommend(task: string): Promise<void> {
    try {
      const found = await service.recommendedModels(task);
      if (task !== this._task) return;
      this._recommended = found;
      this._error = null;
      if (draft.value.model === '' && !draft.value.custom) draft.change({ model: found.recommended_model });
    } catch (error) {
      this._error = asServiceError(error);
    }
  }

  private _ask(model: string): void {
    this._asked = model;
    if (this._timer !== null) clearTimeout(this._timer);
    this._asking?.abort();
    this._check = model === '' ? null : { state: 'asking' };
    if (model === '') return;
    this._timer = setTimeout(() => void this._checkNow(model), typingPauseMs);
  }

  private async _checkNow(model: string): Promise<void> {
    const asking = new AbortController();
    this._asking = asking;
    try {
      const answer = await service.checkModel(model, asking.signal);
      if (this._asked === model) this._check = { state: 'good', answer };
    } catch (error) {
      if (this._asked === model && !asking.signal.aborted) {
        this._check = { state: 'bad', error: asServiceError(error) };
      }
    }
  }

  protected override render(): TemplateResult {
    const { custom, model } = draft.value;
    const recommended = this._recommended;
    if (recommended === null && this._error === null) return html`${skeleton(5)}`;
    return html`
      ${this._error === null ? nothing : serviceErrorPanel('The recommendations could not be read', this._error)}
      <div class="options" role="radiogroup" aria-label="Model">
        ${recommended?.possible_models.map((name) =>
          option(
            'model',
            name,
            html`${nameText(name)}${name === recommended.recommended_model ? html` <span class="tag">recommended</span>` : nothing}`,
            this._reason(recommended, name),
            !custom && model === name,
            () => draft.change({ model: name, custom: false }),
          ),
        )}
        ${option('model', 'custom', 'Another model', 'A hub id, or a folder on this machine.', custom, () =>
          draft.change({ custom: true, model: '' }),
        )}
      </div>
      ${
        custom
          ? html`<div class="field">
              <label for="custom-model">Hub id or folder</label>
              <input
                id="custom-model"
                type="text"
                class="mono"
                placeholder="owner/name or /path/to/model"
                autocomplete="off"
                spellcheck="false"
                aria-describedby="model-check"
                aria-invalid=${this._check?.state === 'bad' ? 'true' : nothing}
                .value=${model}
                @input=${(event: Event) => draft.change({ model: (event.target as HTMLInputElement).value })}
              />
            </div>`
          : nothing
      }
      <div id="model-check" class="check-line" role="status">${this._verdict()}</div>
    `;
  }

  private _reason(
    recommended: { readonly compute_profile: string; readonly reasons?: readonly Reason[] },
    name: string,
  ) {
    const reason = recommended.reasons?.find((entry) => entry.model === name);
    if (reason === undefined) {
      return name === this._recommended?.recommended_model
        ? `The first choice for the ${profileName(recommended.compute_profile).toLowerCase()} profile of this machine.`
        : '';
    }
    const facts = [
      reason.parameters_billion === undefined ? null : `${reason.parameters_billion} B parameters`,
      reason.memory_bytes === undefined ? null : `about ${formatBytes(reason.memory_bytes)} to train`,
      reason.licence,
    ].filter(Boolean);
    return [reason.why, facts.join(', ')].filter(Boolean).join(' · ');
  }

  private _verdict(): TemplateResult | typeof nothing {
    const check = this._check;
    if (check === null) return nothing;
    if (check.state === 'asking') return html`<span class="muted">Checking…</span>`;
    if (check.state === 'bad') {
      const { status } = check.error;
      const title =
        status === 403
          ? 'This model is missing, private or gated'
          : status === 502
            ? 'The hub cannot be reached'
            : 'This model cannot be used';
      return serviceErrorPanel(title, check.error);
    }
    const { model_info: found } = check.answer;
    return html`<span class="good">✓ Can be used</span>
      ${
        found.author === ''
          ? html`<span class="muted">a folder on this machine</span>`
          : html`<span class="muted tabular">
              ${formatCount(found.downloads)} downloads, ${formatCount(found.likes)} likes
            </span>`
      }`;
  }
}
