import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { checkField } from '../../elements/fields.ts';
import { empty, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { models, router } from '../../state/app.ts';
import { readStored, writeStored } from '../../state/local-storage.ts';
import { Watch } from '../../state/store.ts';
import type { Answerer, AnswererSide } from './answerer.ts';
import { modelField, weightsFields } from './answerer-fields.ts';
import './chat.ts';
import { KnownModels } from './model-facts.ts';
import { type Parameters, parameterDefaults, parameterFields } from './playground-parameters.ts';

const questionTask = 'extractive-question-answering';

const asTrained: Omit<Answerer, 'modelId'> = { weights: '', scale: 1 };
/** Side B begins with the base of side A's model; an empty ID follows that model. */
const firstB: Answerer = { modelId: '', weights: 'base', scale: 1 };

/** A chat with a model, alone or beside another model, checkpoint or strength of its adapter. */
@customElement('hone-playground')
export class Playground extends LitElement {
  @property() modelId = '';
  @state() private _parameters: Parameters = {
    ...parameterDefaults,
    ...readStored<Partial<Parameters>>('playground', {}),
  };
  @state() private _a = asTrained;
  @state() private _b: Answerer = { ...firstB, ...readStored<Partial<Answerer>>('playground-b', {}) };
  private _entered = '';
  private readonly _known = new KnownModels(this);
  /** Narrow screens start with the parameters folded. */
  private readonly _isWide = matchMedia('(min-width: 64rem)').matches;

  constructor() {
    super();
    new Watch(this, models);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  protected override willUpdate(): void {
    const known = models.value.value;
    if (this.modelId === '' && known !== null && known.length > 0) {
      const last = readStored('playground-model', '');
      const model = known.find(({ model_id }) => model_id === last) ?? known[0];
      if (model) queueMicrotask(() => router.go(`/playground/${model.model_id}`, { replace: true }));
    }
    if (this.modelId === this._entered) return;
    this._entered = this.modelId;
    this._a = { ...asTrained, weights: router.value.query.get('weights') ?? '' };
    if (this.modelId !== '') writeStored('playground-model', this.modelId);
  }

  private get _model() {
    return this._listed(this.modelId);
  }

  private _listed(modelId: string) {
    return models.value.value?.find(({ model_id }) => model_id === modelId);
  }

  /** What answers, with what is known about it: one side or two. */
  private get _sides(): readonly AnswererSide[] {
    const a = { modelId: this.modelId, ...this._a };
    const b = this._listed(this._b.modelId) ? this._b : { ...this._b, modelId: this.modelId };
    return (this._parameters.compare ? [a, b] : [a]).map((answerer) => {
      const { value, error } = this._known.of(answerer.modelId).value;
      return { answerer, facts: value, error };
    });
  }

  private _set(part: Partial<Parameters>): void {
    this._parameters = { ...this._parameters, ...part };
    writeStored('playground', this._parameters);
  }

  private _setB(part: Partial<Answerer>): void {
    this._b = { ...this._b, ...part };
    writeStored('playground-b', this._b);
  }

  protected override render(): TemplateResult {
    const { value, error } = models.value;
    if (value === null) {
      return html`<div class="page">
        <h1>Playground</h1>
        ${error === null ? html`<section class="card tall">${skeleton(8)}</section>` : serviceErrorPanel('Could not load the models', error)}
      </div>`;
    }
    if (value.length === 0) {
      return html`<div class="page">
        <h1>Playground</h1>
        <section class="card">
          ${empty('No models yet', html`<a href="/training">Train one</a> to try it here.`)}
        </section>
      </div>`;
    }
    const sides = this._model === undefined ? [] : this._sides;
    return html`<div class="page">
      <h1>Playground</h1>
      <div class="playground">
        <aside class="card column-narrow" aria-label="Model and parameters">${this._choices(sides)}</aside>
        <section class="card talk" aria-label="Conversation">
          ${
            sides.length > 0
              ? html`<hone-chat
                  .modelId=${this.modelId}
                  .sides=${sides}
                  .parameters=${this._parameters}
                  .isQuestion=${this._model?.task === questionTask}
                ></hone-chat>`
              : this.modelId === ''
                ? nothing
                : empty('Model not found', 'It may have been deleted. Choose another model.')
          }
        </section>
      </div>
    </div>`;
  }

  private _choices([a, b]: readonly AnswererSide[]): TemplateResult {
    const list = models.value.value ?? [];
    const { compare } = this._parameters;
    const letter = compare ? 'A' : '';
    const converses = [a, b].some((side) => side?.facts?.lineage.chat_template);
    return html`
      ${modelField({
        ...{ letter, id: 'playground-model', models: list, modelId: this.modelId },
        choose: (id) => router.go(`/playground/${id}`),
      })}
      ${a === undefined ? nothing : html`<a class="hint" href="/models/${this.modelId}">About this model</a>`}
      ${
        a?.facts == null
          ? nothing
          : weightsFields(letter, a.facts, a.answerer, (part) => {
              this._a = { ...this._a, ...part };
            })
      }
      ${checkField('Compare side by side', compare, (on) => this._set({ compare: on }))}
      ${
        b === undefined
          ? nothing
          : html`<div class="side-b">
              ${modelField({
                ...{ letter: 'B', id: 'b-model', models: list, modelId: this._b.modelId, same: 'Same as A' },
                choose: (id) => this._setB({ modelId: id, weights: id === '' ? 'base' : '', scale: 1 }),
              })}
              ${b.facts === null ? nothing : weightsFields('B', b.facts, b.answerer, (part) => this._setB(part))}
            </div>`
      }
      <details class="fold bare parameters" ?open=${this._isWide}>
        <summary>Parameters</summary>
        <div class="column">
          ${parameterFields(this._parameters, converses, (part) => this._set(part))}
        </div>
      </details>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-playground': Playground;
  }
}
