import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { scoredRows } from '../../../src/contract/evaluations.ts';
import { settings } from '../../../src/contract/settings.ts';
import { type EvaluationBody, service } from '../../api/service.ts';
import { checkField, textField } from '../../elements/fields.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText, serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { datasets, evaluations, graders, models, router } from '../../state/app.ts';
import { Watch } from '../../state/store.ts';

/** The choice of a base model that is typed. */
const other = 'other';
const asBase = 'base';

type Syntax = (typeof settings.tool_syntax.choices)[number];

/** The form for a new evaluation; the address may name its dataset and its model. */
@customElement('hone-evaluation-form')
export class EvaluationForm extends LightElement {
  @state() private _dataset = '';
  /** A model's ID, or `other`. */
  @state() private _model = '';
  @state() private _baseModel = '';
  @state() private _syntax: Syntax = settings.tool_syntax.recommended;
  /** Empty, `base`, or the step of a checkpoint. */
  @state() private _weights = '';
  @state() private _steps: readonly number[] = [];
  @state() private _rows = String(scoredRows.usual);
  /** The names of the graders that score the answers. */
  @state() private _graders: readonly string[] = [];
  private readonly _action = new Action(this);

  constructor() {
    super();
    new Watch(this, datasets, graders, models);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void datasets.refresh();
    void graders.refresh();
    void models.refresh().then(() => this._readSteps());
    const { query } = router.value;
    this._dataset = query.get('dataset') ?? '';
    this._model = query.get('model') ?? '';
  }

  /** Reads which checkpoints the run of the model keeps. */
  private async _readSteps(): Promise<void> {
    const model = this._model;
    this._steps = [];
    const jobId = models.value.value?.find(({ model_id }) => model_id === model)?.job_id;
    if (jobId == null) return;
    try {
      const { checkpoints } = await service.job(jobId);
      if (model === this._model) this._steps = checkpoints.map(({ step }) => step);
    } catch {
      // Without its run, a model has no checkpoints.
    }
  }

  private get _count(): number | null {
    const count = Number(this._rows);
    return Number.isInteger(count) && count >= 1 && count <= scoredRows.most ? count : null;
  }

  private get _body(): EvaluationBody | null {
    const { _dataset: dataset, _count: rows } = this;
    if (dataset === '' || rows === null) return null;
    const scored = { dataset, rows, graders: [...this._graders] };
    if (this._model === other) {
      const baseModel = this._baseModel.trim();
      return baseModel === '' ? null : { ...scored, base_model: baseModel, tool_syntax: this._syntax };
    }
    if (this._model === '') return null;
    const answering = { ...scored, model: this._model };
    if (this._weights === asBase) return { ...answering, as_base: true };
    return this._weights === '' ? answering : { ...answering, checkpoint: Number(this._weights) };
  }

  private async _start(event: Event): Promise<void> {
    event.preventDefault();
    const body = this._body;
    if (this._action.busy || body === null) return;
    await this._action.run(async () => {
      await service.startEvaluation(body);
      // Not waited for: a button that is disabled for long loses the focus.
      void evaluations.refresh();
    });
  }

  protected override render(): TemplateResult {
    return html`<form class="evaluation-form" @submit=${(event: Event) => this._start(event)}>
      <div class="fields">
        ${this._select('evaluation-dataset', 'Dataset', this._dataset, this._datasets(), (value) => {
          this._dataset = value;
        })}
        ${this._select('evaluation-model', 'Model', this._model, this._models(), (value) => {
          this._model = value;
          this._weights = '';
          void this._readSteps();
        })}
        ${this._answering()}
        ${textField(
          {
            name: 'Rows',
            id: 'evaluation-rows',
            value: this._rows,
            inputMode: 'numeric',
            hint: `The first rows are scored, at most ${scoredRows.most.toLocaleString('en')}.`,
            fault: this._count === null,
          },
          (text) => {
            this._rows = text;
          },
        )}
      </div>
      ${this._graderFields()}
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not start the evaluation', this._action.error)}
      <div class="row end">
        <button type="submit" class="primary" ?disabled=${this._action.busy || this._body === null}>Evaluate</button>
      </div>
    </form>`;
  }

  private _graderFields(): TemplateResult | typeof nothing {
    const known = graders.value.value ?? [];
    if (known.length === 0) return nothing;
    return html`<fieldset>
      <legend>Graders</legend>
      <div class="row wrap-row">
        ${known.map(({ name }) =>
          checkField(nameText(name), this._graders.includes(name), (on) => {
            this._graders = on ? [...this._graders, name] : this._graders.filter((other) => other !== name);
          }),
        )}
      </div>
    </fieldset>`;
  }

  private _datasets(): readonly (readonly [string, string])[] {
    const usable = (datasets.value.value ?? []).filter(({ valid }) => valid);
    return usable.map(({ filename }) => [filename, filename] as const);
  }

  private _models(): readonly (readonly [string, string])[] {
    const trained = (models.value.value ?? []).map(
      ({ model_id, display_name, name }) => [model_id, display_name || name] as const,
    );
    return [...trained, [other, 'A base model…']];
  }

  /** What of the model answers, or which base model. */
  private _answering(): TemplateResult | typeof nothing {
    if (this._model === other) {
      const placeholder = 'owner/name, or a folder';
      const { label, choices } = settings.tool_syntax;
      return html`${textField(
        { name: 'Base model', id: 'evaluation-base', value: this._baseModel, placeholder },
        (text) => {
          this._baseModel = text;
        },
      )}
      ${this._select(
        'evaluation-syntax',
        label,
        this._syntax,
        choices.map((choice) => [choice, choice] as const),
        (value) => {
          this._syntax = value as Syntax;
        },
      )}`;
    }
    if (this._model === '') return nothing;
    const choices = [
      ['', 'As trained'] as const,
      [asBase, 'Base model'] as const,
      ...this._steps.map((step) => [String(step), `Checkpoint of step ${step}`] as const),
    ];
    return this._select('evaluation-weights', 'Version', this._weights, choices, (value) => {
      this._weights = value;
    });
  }

  private _select(
    id: string,
    name: string,
    chosen: string,
    choices: readonly (readonly [string, string])[],
    choose: (value: string) => void,
  ): TemplateResult {
    const isListed = choices.some(([value]) => value === chosen);
    return html`<div class="field">
      <label for=${id}>${name}</label>
      <select id=${id} .value=${chosen} @change=${(event: Event) => choose((event.target as HTMLSelectElement).value)}>
        ${isListed ? nothing : html`<option value=${chosen} selected>Choose…</option>`}
        ${choices.map(([value, text]) => html`<option value=${value} ?selected=${value === chosen}>${text}</option>`)}
      </select>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-evaluation-form': EvaluationForm;
  }
}
