import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { empty, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { baseModels, jobs, models, router } from '../../state/app.ts';
import { readStored, writeStored } from '../../state/local-storage.ts';
import { readTools, writtenTools } from '../../state/playground/tools.ts';
import { Reread } from '../../state/remote.ts';
import { playgroundPath } from '../../state/router.ts';
import { Watch } from '../../state/store.ts';
import { playgroundTabs } from '../../views/tabs/playground-tabs.ts';
import '../../views/preparing.ts';
import { type Answerer, type AnswererSide, canAnswer } from './answerer.ts';
import { modelField, weightsFields } from './answerer-fields.ts';
import './chat/chat.ts';
import './deleted-chats.ts';
import type { StoredChat } from '../../api/types.ts';
import { LightElement } from '../../elements/light-element.ts';
import { isBase, type ModelChoice, modelChoices } from './choices.ts';
import { KnownModels } from './model-facts.ts';
import { otherSidesFields } from './other-sides.ts';
import {
  conversationFields,
  filledFor,
  type Parameters,
  parameterDefaults,
  parameterFields,
} from './playground-parameters.ts';
import { toolFields } from './tool-fields.ts';

const questionTask = 'extractive-question-answering';

const asTrained: Omit<Answerer, 'modelId'> = { weights: '', scale: 1 };
/** What side A's model is compared with first is its base; an empty ID follows that model. */
const firstOthers: readonly Answerer[] = [{ modelId: '', weights: 'base', scale: 1 }];
const othersKey = 'playground-others';

/**
 * A chat with a model; on the tab *Compare* beside up to three other models, checkpoints or strengths of its adapter. What was
 * asked stays when the tab changes.
 */
@customElement('hone-playground')
export class Playground extends LightElement {
  @property() modelId = '';
  /** Whether other sides answer, too. */
  @property({ type: Boolean }) compares = false;
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
  /** Narrow screens have the messages alone, and the settings in a sheet. */
  private readonly _wide = matchMedia('(min-width: 64rem)');
  private readonly _onWidth = () => {
    this._showsSettings = false;
    this.requestUpdate();
  };
  @state() private _showsSettings = false;

  constructor() {
    super();
    new Watch(this, models);
    new Watch(this, jobs);
    new Reread(this, baseModels);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._wide.addEventListener('change', this._onWidth);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._wide.removeEventListener('change', this._onWidth);
  }

  protected override willUpdate(): void {
    const known = modelChoices(this.modelId);
    if (this.modelId === '' && known !== null && known.length > 0) {
      const last = readStored('playground-model', '');
      const model = known.find(({ modelId }) => modelId === last) ?? known[0];
      if (model)
        queueMicrotask(() => router.go(playgroundPath(model.modelId, this.compares), { replace: true }));
    }
    this._fill();
    if (this.modelId === this._entered) return;
    this._entered = this.modelId;
    const { query } = router.value;
    const scale = Number(query.get('strength') ?? 1);
    this._a = {
      ...asTrained,
      weights: query.get('weights') ?? '',
      scale: scale >= 0 && scale <= 1 ? scale : asTrained.scale,
    };
    if (this.modelId !== '') writeStored('playground-model', this.modelId);
  }

  /** Begins with the system prompt and tools that the model was trained with; what was written for it since is kept. */
  private _fill(): void {
    const { systemFor, toolsFor } = this._parameters;
    if (this._model === undefined || (systemFor === this.modelId && toolsFor === this.modelId)) return;
    const facts = this._known.of(this.modelId).value.value;
    if (facts !== null) this._set(filledFor(this._parameters, this.modelId, facts));
  }

  /** Shows the tools of a chat, unless they are those that are written. */
  private _takeTools(tools: NonNullable<StoredChat['tools']>): void {
    const text = writtenTools(tools);
    const isSame = writtenTools(readTools(this._parameters.tools).tools) === text;
    this._set({ tools: isSame ? this._parameters.tools : text });
  }

  private get _model() {
    return this._listed(this.modelId);
  }

  private _listed(modelId: string): ModelChoice | undefined {
    const found = modelChoices(this.modelId)?.find((choice) => choice.modelId === modelId);
    if (found !== undefined) this._seen.set(modelId, found);
    // While the lists are read again, a run that has just made its model may be in neither.
    else if (![models, jobs, baseModels].some(({ value }) => value.loading)) this._seen.delete(modelId);
    return this._seen.get(modelId);
  }

  /** What answers, with what is known about it: one side, or two to four. */
  private get _sides(): readonly AnswererSide[] {
    const a = { modelId: this.modelId, ...this._a };
    const others = this._others.map((other) =>
      this._listed(other.modelId) ? other : { ...other, modelId: this.modelId },
    );
    return (this.compares ? [a, ...others] : [a]).map((answerer) => {
      const { value, error } = this._known.of(answerer.modelId).value;
      return { answerer, facts: value, error };
    });
  }

  private _set(part: Partial<Parameters>): void {
    const { systemFor, toolsFor } = this._parameters;
    this._parameters = {
      ...this._parameters,
      systemFor: part.system === undefined ? systemFor : this.modelId,
      toolsFor: part.tools === undefined ? toolsFor : this.modelId,
      ...part,
    };
    writeStored('playground', this._parameters);
  }

  private _setOthers(others: readonly Answerer[]): void {
    this._others = others;
    writeStored(othersKey, others);
  }

  protected override render(): TemplateResult {
    const { error } = models.value;
    const choices = modelChoices(this.modelId);
    if (choices === null) {
      return html`<div class="page">
        <h1>Playground</h1>
        ${error === null ? html`<section class="card tall">${skeleton(8)}</section>` : serviceErrorPanel('Could not load the models', error)}
      </div>`;
    }
    if (choices.length === 0) {
      return html`<div class="page">
        ${playgroundTabs('Chat')}
        <h1>Playground</h1>
        <section class="card">
          ${empty('No models yet', html`<a href="/training">Train one</a> to try it here. Base models on this machine can be asked, too.`)}
        </section>
        <hone-deleted-chats></hone-deleted-chats>
      </div>`;
    }
    const sides = this._model === undefined ? [] : this._sides;
    const isWide = this._wide.matches;
    const fields = html`<div class="column">${this._fields(sides, choices)}</div>`;
    return html`<div class="page">
      ${playgroundTabs(this.compares ? 'Compare' : 'Chat', this.modelId)}
      <div class="row between">
        <h1>Playground</h1>
        ${isWide ? nothing : this._settingsButton()}
      </div>
      <div class="playground">
        ${
          isWide
            ? html`<aside class="card column-narrow" aria-label="Model and parameters">
                <hone-preparing></hone-preparing>
                ${fields}
              </aside>`
            : html`<hone-preparing></hone-preparing>`
        }
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
                  @tools=${({ detail }: CustomEvent<NonNullable<StoredChat['tools']>>) => this._takeTools(detail)}
                  @raise=${({ detail }: CustomEvent<number>) => this._set({ maxTokens: detail })}
                ></hone-chat>`
                : this.modelId === ''
                  ? nothing
                  : empty('Model not found', 'It may have been deleted. Choose another model.')
          }
        </section>
      </div>
      <hone-deleted-chats></hone-deleted-chats>
      ${this._showsSettings && !isWide ? this._sheet(fields) : nothing}
    </div>`;
  }

  private _settingsButton(): TemplateResult {
    return html`<button
      type="button"
      @click=${() => {
        this._showsSettings = true;
      }}
    >
      Settings
    </button>`;
  }

  private _sheet(fields: TemplateResult): TemplateResult {
    return html`<hone-dialog
      class="sheet"
      heading="Model and settings"
      .content=${fields}
      @dismiss=${() => {
        this._showsSettings = false;
      }}
    ></hone-dialog>`;
  }

  private _fields(sides: readonly AnswererSide[], choices: readonly ModelChoice[]): TemplateResult {
    const [a] = sides;
    return html`
      ${modelField({
        letter: this.compares ? 'A' : '',
        id: 'playground-model',
        choices,
        modelId: this.modelId,
        choose: (id) => router.go(playgroundPath(id, this.compares)),
      })}
      ${a === undefined || isBase(a.answerer.modelId) ? nothing : aboutLink(a)}
      ${a !== undefined && a.facts === null && a.error === null ? skeleton(8) : this._fieldsOf(sides, choices)}
    `;
  }

  /** What follows the choice of the model. It waits until the model is known, so that nothing moves what has the focus. */
  private _fieldsOf(sides: readonly AnswererSide[], choices: readonly ModelChoice[]): TemplateResult {
    const [a] = sides;
    const converses = sides.some(({ facts }) => facts?.hasChatTemplate);
    const set = (part: Partial<Parameters>) => this._set(part);
    // Compared answers are made with the same tools, or without.
    const refusal =
      sides.map(({ facts }) => facts?.toolsFault ?? null).find((fault) => fault !== null) ?? null;
    const conversation = html`${conversationFields(this._parameters, set)} ${toolFields(this._parameters, refusal, set)}`;
    const hasVerdict = sides.some(({ facts }) => facts?.isBase === false);
    return html`
      ${
        a?.facts == null
          ? nothing
          : weightsFields(this.compares ? 'A' : '', a.facts, a.answerer, (part) => {
              this._a = { ...this._a, ...part };
            })
      }
      ${
        this.compares
          ? otherSidesFields({
              sides,
              choices,
              others: this._others,
              set: (others) => this._setOthers(others),
              removed: () => {
                void this.updateComplete.then(() => this.querySelector<HTMLElement>('#add-version')?.focus());
              },
            })
          : nothing
      }
      ${parameterFields(this._parameters, converses ? conversation : null, hasVerdict, set)}
    `;
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
