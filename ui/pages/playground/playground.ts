import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { checkField } from '../../elements/fields.ts';
import { empty, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { jobs, models, router } from '../../state/app.ts';
import { readStored, writeStored } from '../../state/local-storage.ts';
import { Watch } from '../../state/store.ts';
import '../../views/preparing.ts';
import { type Answerer, type AnswererSide, canAnswer, type ModelFacts, unusedWeights } from './answerer.ts';
import { modelField, sideLetters, weightsFields } from './answerer-fields.ts';
import './chat/chat.ts';
import './deleted-chats.ts';
import { LightElement } from '../../elements/light-element.ts';
import { type ModelChoice, modelChoices } from './choices.ts';
import { KnownModels } from './model-facts.ts';
import { type Parameters, parameterDefaults, parameterFields } from './playground-parameters.ts';

const questionTask = 'extractive-question-answering';

const asTrained: Omit<Answerer, 'modelId'> = { weights: '', scale: 1 };
/** What side A's model is compared with first is its base; an empty ID follows that model. */
const firstOthers: readonly Answerer[] = [{ modelId: '', weights: 'base', scale: 1 }];
const othersKey = 'playground-others';

/** A chat with a model, alone or beside up to three other models, checkpoints or strengths of its adapter. */
@customElement('hone-playground')
export class Playground extends LightElement {
  @property() modelId = '';
  @state() private _parameters: Parameters = {
    ...parameterDefaults,
    ...readStored<Partial<Parameters>>('playground', {}),
  };
  @state() private _a = asTrained;
  @state() private _others = readStored(othersKey, firstOthers);
  private _entered = '';
  /** What was chosen, by the model's ID. */
  private readonly _seen = new Map<string, ModelChoice>();
  private readonly _known = new KnownModels(this);
  /** Narrow screens start with the messages: the settings are folded. */
  private readonly _isWide = matchMedia('(min-width: 64rem)').matches;

  constructor() {
    super();
    new Watch(this, models);
    new Watch(this, jobs);
  }

  protected override willUpdate(): void {
    const known = modelChoices();
    if (this.modelId === '' && known !== null && known.length > 0) {
      const last = readStored('playground-model', '');
      const model = known.find(({ modelId }) => modelId === last) ?? known[0];
      if (model) queueMicrotask(() => router.go(`/playground/${model.modelId}`, { replace: true }));
    }
    if (this.modelId === this._entered) return;
    this._entered = this.modelId;
    this._a = { ...asTrained, weights: router.value.query.get('weights') ?? '' };
    if (this.modelId !== '') writeStored('playground-model', this.modelId);
  }

  private get _model() {
    return this._listed(this.modelId);
  }

  private _listed(modelId: string): ModelChoice | undefined {
    const found = modelChoices()?.find((choice) => choice.modelId === modelId);
    if (found !== undefined) this._seen.set(modelId, found);
    // While the lists are read again, a run that has just made its model may be in neither.
    else if (!models.value.loading && !jobs.value.loading) this._seen.delete(modelId);
    return this._seen.get(modelId);
  }

  /** What answers, with what is known about it: one side, or two to four. */
  private get _sides(): readonly AnswererSide[] {
    const a = { modelId: this.modelId, ...this._a };
    const others = this._others.map((other) =>
      this._listed(other.modelId) ? other : { ...other, modelId: this.modelId },
    );
    return (this._parameters.compare ? [a, ...others] : [a]).map((answerer) => {
      const { value, error } = this._known.of(answerer.modelId).value;
      return { answerer, facts: value, error };
    });
  }

  private _set(part: Partial<Parameters>): void {
    this._parameters = { ...this._parameters, ...part };
    writeStored('playground', this._parameters);
  }

  private _setOthers(others: readonly Answerer[]): void {
    this._others = others;
    writeStored(othersKey, others);
  }

  private _setOther(index: number, part: Partial<Answerer>): void {
    this._setOthers(this._others.map((other, place) => (place === index ? { ...other, ...part } : other)));
  }

  private _removeOther(index: number): void {
    this._setOthers(this._others.filter((_, place) => place !== index));
    void this.updateComplete.then(() => this.querySelector<HTMLElement>('#add-version')?.focus());
  }

  protected override render(): TemplateResult {
    const { error } = models.value;
    const choices = modelChoices();
    if (choices === null) {
      return html`<div class="page">
        <h1>Playground</h1>
        ${error === null ? html`<section class="card tall">${skeleton(8)}</section>` : serviceErrorPanel('Could not load the models', error)}
      </div>`;
    }
    if (choices.length === 0) {
      return html`<div class="page">
        <h1>Playground</h1>
        <section class="card">
          ${empty('No models yet', html`<a href="/training">Train one</a> to try it here.`)}
        </section>
        <hone-deleted-chats></hone-deleted-chats>
      </div>`;
    }
    const sides = this._model === undefined ? [] : this._sides;
    return html`<div class="page">
      <h1>Playground</h1>
      <div class="playground">
        <aside class="card column-narrow" aria-label="Model and parameters">
          <hone-preparing></hone-preparing>
          <details class="fold bare playground-settings" ?open=${this._isWide}>
            <summary>Model and settings</summary>
            <div class="column">${this._fields(sides, choices)}</div>
          </details>
        </aside>
        <section class="card talk" aria-label="Conversation">
          ${
            sides.some(({ facts }) => facts !== null && !canAnswer(facts))
              ? empty('No checkpoint yet', 'The run can be asked once it has saved one.')
              : sides.length > 0
                ? html`<hone-chat
                  .modelId=${this.modelId}
                  .sides=${sides}
                  .parameters=${this._parameters}
                  .isQuestion=${this._model?.task === questionTask}
                  @raise=${({ detail }: CustomEvent<number>) => this._set({ maxTokens: detail })}
                ></hone-chat>`
                : this.modelId === ''
                  ? nothing
                  : empty('Model not found', 'It may have been deleted. Choose another model.')
          }
        </section>
      </div>
      <hone-deleted-chats></hone-deleted-chats>
    </div>`;
  }

  private _fields(sides: readonly AnswererSide[], choices: readonly ModelChoice[]): TemplateResult {
    const [a] = sides;
    const { compare } = this._parameters;
    return html`
      ${modelField({
        letter: compare ? 'A' : '',
        id: 'playground-model',
        choices,
        modelId: this.modelId,
        choose: (id) => router.go(`/playground/${id}`),
      })}
      ${a === undefined ? nothing : aboutLink(a)}
      ${a !== undefined && a.facts === null && a.error === null ? skeleton(8) : this._fieldsOf(sides, choices)}
    `;
  }

  /** What follows the choice of the model. It waits until the model is known, so that nothing moves what has the focus. */
  private _fieldsOf(sides: readonly AnswererSide[], choices: readonly ModelChoice[]): TemplateResult {
    const { compare } = this._parameters;
    const [a, ...others] = sides;
    const converses = sides.some(({ facts }) => facts?.hasChatTemplate);
    return html`
      ${
        a?.facts == null
          ? nothing
          : weightsFields(compare ? 'A' : '', a.facts, a.answerer, (part) => {
              this._a = { ...this._a, ...part };
            })
      }
      ${checkField('Compare side by side', compare, (on) => this._set({ compare: on }))}
      ${others.map((side, index) => this._otherFields(side, index, choices))}
      ${
        !compare || a?.facts == null || sides.length >= sideLetters.length
          ? nothing
          : this._addButton(
              a.facts,
              sides.map(({ answerer }) => answerer).filter(({ modelId }) => modelId === this.modelId),
            )
      }
      ${parameterFields(this._parameters, converses, (part) => this._set(part))}
    `;
  }

  /** The fields of a side other than the first. */
  private _otherFields(
    { answerer, facts }: AnswererSide,
    index: number,
    choices: readonly ModelChoice[],
  ): TemplateResult {
    const letter = sideLetters[index + 1] ?? '';
    return html`<div class="other-side">
      ${modelField({
        letter,
        id: `${letter.toLowerCase()}-model`,
        choices,
        modelId: this._others[index]?.modelId ?? '',
        same: 'Same as A',
        choose: (id) => this._setOther(index, { modelId: id, weights: id === '' ? 'base' : '', scale: 1 }),
      })}
      ${facts === null ? nothing : weightsFields(letter, facts, answerer, (part) => this._setOther(index, part))}
      ${
        this._others.length < 2
          ? nothing
          : html`<button type="button" class="tool" @click=${() => this._removeOther(index)}>Remove ${letter}</button>`
      }
    </div>`;
  }

  /** @param taken what answers of the first side's model. */
  private _addButton(facts: ModelFacts, taken: readonly Answerer[]): TemplateResult {
    const add = () =>
      this._setOthers([...this._others, { modelId: '', weights: unusedWeights(facts, taken), scale: 1 }]);
    return html`<button type="button" id="add-version" @click=${add}>Compare another version</button>`;
  }
}

const aboutLink = ({ answerer, facts }: AnswererSide) =>
  facts?.runId == null
    ? html`<a class="hint" href="/models/${answerer.modelId}">About this model</a>`
    : html`<a class="hint" href="/training/${facts.runId}">About this run</a>`;

declare global {
  interface HTMLElementTagNameMap {
    'hone-playground': Playground;
  }
}
