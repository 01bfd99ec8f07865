import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { CheckedModel, LocalModel, Recommendation, Recommendations } from '../../api/types.ts';
import { formatCount, formatMemory, formatNumber } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { draft, mergesAdapter } from '../../state/drafts/draft.ts';
import { hubAway } from '../../state/hub-away.ts';
import { asServiceError } from '../../state/remote.ts';
import { Watch } from '../../state/store.ts';

const typingPauseMs = 450;
/** The statuses that a start would answer with. */
const statuses = { invalid: 400, forbidden: 403, upstream: 502 } as const;

type Check =
  | { readonly state: 'asking' }
  | { readonly state: 'good'; readonly hub: CheckedModel['hub']; readonly notes: readonly string[] }
  /** `isVerdict`: the service refused the model; otherwise it could not be asked. */
  | { readonly state: 'bad'; readonly error: ServiceError; readonly isVerdict: boolean };

/**
 * Chooses the base model: one that is suggested, one on this machine, or any other, which is checked as it is typed.
 * Fires `checked` with a sentence that tells why the model cannot be used; `null` if nothing is known against it.
 */
@customElement('hone-model-picker')
export class ModelPicker extends LightElement {
  @state() private _recommended: Recommendations | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _check: Check | null = null;
  /** Where the model's adapter is that can be merged first. */
  @state() private _adapter: CheckedModel['adapter'] = null;
  @state() private _local: readonly LocalModel[] | null = null;
  @state() private _isTyping = false;
  @state() private _isRecommending = false;
  private _task = '';
  /** The model that was typed in last. */
  private _typed = '';
  private _asked = '';
  /** Whether the user has chosen a model here. */
  private _isChosen = false;
  private _askedMerged = false;
  private _timer: ReturnType<typeof setTimeout> | null = null;
  private _asking: AbortController | null = null;
  private _listing: Promise<void> = Promise.resolve();

  constructor() {
    super();
    new Watch(this, draft);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // Without the list, models can still be typed in.
    this._listing = service
      .baseModels()
      .catch(() => [])
      .then((found) => {
        this._local = found;
      });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this._timer !== null) clearTimeout(this._timer);
    this._asking?.abort();
    this._asked = '';
  }

  protected override updated(changed: Map<PropertyKey, unknown>): void {
    if (!changed.has('_check')) return;
    const check = this._check;
    const wrong = check?.state === 'bad' && check.isVerdict ? `${refusal(check.error)}.` : null;
    this.dispatchEvent(new CustomEvent('checked', { detail: wrong }));
  }

  protected override willUpdate(): void {
    const { task, model, custom } = draft.value;
    if (custom && this._local !== null && this._isTyped) this._typed = model;
    if (task !== this._task) {
      this._task = task;
      void this._recommend(task);
    }
    const merged = mergesAdapter(draft.value);
    if (model.trim() !== this._asked) {
      this._adapter = null;
      this._askedMerged = merged;
      this._ask(model.trim());
    } else if (merged !== this._askedMerged) {
      this._askedMerged = merged;
      this._ask(model.trim());
    }
  }

  private async _recommend(task: string): Promise<void> {
    this._isRecommending = true;
    try {
      const found = await service.recommendations(task);
      if (task !== this._task) return;
      this._recommended = found;
      this._error = null;
      const [first] = found.recommendations;
      if (first !== undefined && draft.value.model === '' && !draft.value.custom) {
        draft.change({ model: first.model });
      }
    } catch (error) {
      if (task !== this._task) return;
      this._recommended = null;
      this._error = asServiceError(error);
    } finally {
      if (task === this._task) this._isRecommending = false;
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
      const merged = this._askedMerged;
      const answer = await service.checkModel(model, asking.signal, merged);
      if (this._asked !== model || this._askedMerged !== merged) return;
      const { problem, hub, notes, adapter } = answer;
      this._adapter = adapter;
      if (problem?.kind === 'upstream') hubAway.set(true);
      // Without the hub, what is known of a model is in the cache alone.
      else if (hub !== null) hubAway.set(hub.downloads === null);
      if (problem?.kind === 'upstream') {
        await this._listing;
        if (this._asked !== model || this._chooseHere(model)) return;
      }
      this._check =
        problem === null
          ? { state: 'good', hub, notes }
          : {
              state: 'bad',
              error: new ServiceError(statuses[problem.kind], problem.message, problem.message),
              isVerdict: true,
            };
    } catch (error) {
      if (this._asked === model && !asking.signal.aborted) {
        this._check = { state: 'bad', error: asServiceError(error), isVerdict: false };
      }
    }
  }

  /** Chooses a model that is here in place of one that was suggested, which the hub does not give now. @returns whether there is one. */
  private _chooseHere(model: string): boolean {
    const here = this._local ?? [];
    const isOwn = this._isChosen || draft.value.custom || !this._suggested.some((one) => one.model === model);
    const found =
      this._suggested.find((one) => here.some((local) => local.model === one.model))?.model ??
      here.find(({ last_used: used }) => used !== null)?.model ??
      here[0]?.model;
    if (isOwn || found === undefined) return false;
    this._choose(found);
    return true;
  }

  /** Checks the model once more; it may exist by now. */
  private _checkAgain(): void {
    this._asked = '';
    this.requestUpdate();
  }

  /** Whether the model is typed in rather than chosen from the list. */
  private get _isTyped(): boolean {
    const { custom, model } = draft.value;
    if (custom && this._isTyping) return true;
    const isListed = [...this._suggested, ...(this._local ?? [])].some((one) => one.model === model);
    return !isListed && !this._isRecommending;
  }

  private _choose(name: string): void {
    this._isTyping = name === '';
    const isSuggested = this._suggested.some(({ model }) => model === name);
    draft.change(name === '' ? { custom: true, model: this._typed } : { custom: !isSuggested, model: name });
  }

  private get _suggested(): readonly Recommendation[] {
    return this._recommended?.recommendations ?? [];
  }

  protected override render(): TemplateResult {
    const { model } = draft.value;
    const local = this._local;
    if (local === null || (this._recommended === null && this._error === null)) return html`${skeleton(2)}`;
    const isTyped = this._isTyped;
    const others = this._suggested.filter((one) => !local.some((here) => here.model === one.model));
    const entry = (name: string, words: string) =>
      html`<option value=${name} .selected=${!isTyped && name === model}>${words}</option>`;
    return html`
      ${this._error === null ? nothing : serviceErrorPanel('Could not load the recommendations', this._error)}
      <div class="form-row">
        <label for="model">Model</label>
        <div class="form-row-fields">
          <select
            id="model"
            aria-describedby="model-check"
            @change=${(event: Event) => {
              this._isChosen = true;
              this._choose((event.target as HTMLSelectElement).value);
            }}
          >
            ${
              others.length === 0
                ? nothing
                : html`<optgroup label="Suggested for this machine">
                    ${others.map((one) => entry(one.model, suggestion(one)))}
                  </optgroup>`
            }
            ${
              local.length === 0
                ? nothing
                : html`<optgroup label="On this machine">
                    ${local.map((one) => entry(one.model, this._localWords(one)))}
                  </optgroup>`
            }
            <option value="" .selected=${isTyped}>${typedOption}</option>
          </select>
          ${
            isTyped
              ? html`<input
                  id="custom-model"
                  type="text"
                  class="mono"
                  aria-label="Hub ID or folder"
                  placeholder="owner/name, /path/to/model or /path/to/model.gguf"
                  autocomplete="off"
                  spellcheck="false"
                  aria-describedby="model-check"
                  aria-invalid=${this._check?.state === 'bad' ? 'true' : nothing}
                  .value=${model}
                  @input=${(event: Event) => {
                    this._isTyping = true;
                    draft.change({ model: (event.target as HTMLInputElement).value });
                  }}
                />`
              : nothing
          }
        </div>
        ${this._merge()}
        <div id="model-check" class="check-line" role="status">${this._verdict()} ${this._why()}</div>
      </div>
    `;
  }

  /** The choice to merge the model's adapter, where it has one. */
  private _merge(): TemplateResult | typeof nothing {
    if (this._adapter === null) return nothing;
    return html`<label class="check">
      <input
        type="checkbox"
        .checked=${mergesAdapter(draft.value)}
        @change=${(event: Event) => {
          const { checked } = event.target as HTMLInputElement;
          draft.change({ mergeFor: checked ? draft.value.model.trim() : '' });
        }}
      />
      ${this._adapter === 'alone' ? 'Merge this adapter into its base first' : 'Merge the adapter beside the weights first'}
    </label>`;
  }

  /** Why the chosen model is suggested. */
  private _why(): TemplateResult | typeof nothing {
    const found = this._suggested.find(({ model }) => model === draft.value.model);
    return found === undefined || draft.value.custom
      ? nothing
      : html`<span class="muted">${found.why.charAt(0).toUpperCase()}${found.why.slice(1)}; ${found.licence}</span>`;
  }

  /** A model on this machine, with what is known of it. */
  private _localWords({ model, kind, gguf }: LocalModel): string {
    if (gguf !== null) {
      const facts = [gguf.quantization, formatMemory(gguf.bytes), gguf.program].filter(Boolean).join(', ');
      return `${gguf.name} · GGUF, ${facts}`;
    }
    const suggested = this._suggested.find((one) => one.model === model);
    if (suggested !== undefined) return suggestion(suggested);
    if (kind === 'starter') return `${model.split(/[/\\]/).at(-1)} · the demo’s small model`;
    return kind === 'hub' ? `${model} · in the hub cache` : model;
  }

  private _verdict(): TemplateResult | typeof nothing {
    const check = this._check;
    if (check === null) return nothing;
    if (check.state === 'asking') return html`<span class="muted">Checking…</span>`;
    if (check.state === 'bad') {
      const title = check.isVerdict ? refusal(check.error) : 'Could not check the model';
      return html`${serviceErrorPanel(title, check.error)}
        <button type="button" class="small" @click=${this._checkAgain}>Check again</button>`;
    }
    const { hub, notes } = check;
    return html`<span class="good">✓ Model found</span>
      ${
        hub === null
          ? html`<span class="muted">on this machine</span>`
          : html`<span class="muted tabular">
              ${formatCount(hub.downloads)} downloads, ${formatCount(hub.likes)} likes
            </span>`
      }
      ${notes.map((note) => html`<p class="hint">${note}</p>`)}`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-model-picker': ModelPicker;
  }
}

const typedOption = 'Path or hub ID…';

/** Why a model cannot be used, by the status that a start would answer with. */
const refusal = ({ status }: ServiceError): string =>
  status === 403
    ? 'This model does not exist, or is private or gated'
    : status === 502
      ? 'Could not reach the hub'
      : 'This model cannot be used';

/** A suggested model with its size and memory. */
const suggestion = ({ model, parameters_billion, memory_bytes }: Recommendation): string =>
  `${model} · ${formatNumber(parameters_billion, 3)} B parameters, about ${formatMemory(memory_bytes)} to train`;
