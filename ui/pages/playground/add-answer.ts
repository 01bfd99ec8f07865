import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { StoredChat } from '../../api/types.ts';
import { textField } from '../../elements/fields.ts';
import { LightElement } from '../../elements/light-element.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { datasets, toasts } from '../../state/app.ts';
import { readStored, writeStored } from '../../state/local-storage.ts';
import { type AnswerShape, answerShapes, rowOf } from '../../state/playground/dataset-rows.ts';
import type { Exchange } from '../../state/playground/exchange.ts';
import { Reread } from '../../state/remote.ts';

const shapeNames: Readonly<Record<AnswerShape, string>> = {
  messages: 'Conversation (messages)',
  'input-output': 'Prompt and answer (input, output)',
  'question-answer': 'Question about a text (context, question, answer)',
  preference: 'Preference (prompt, chosen, rejected)',
};
const ending = '.jsonl';
/** The dataset that the last answer was added to. */
const lastKey = 'answers-dataset';

/** The dialog that adds an answer to a dataset. Fires `dismiss` when it is closed. */
@customElement('hone-add-answer')
export class AddAnswer extends LightElement {
  /** The exchanges that were sent with the prompt. */
  @property({ attribute: false }) sent: readonly Exchange[] = [];
  @property({ attribute: false }) exchange: Exchange | null = null;
  /** The tools that it could call. */
  @property({ attribute: false }) tools: StoredChat['tools'] = null;
  /** Which of its answers. */
  @property({ attribute: false }) index = 0;
  /** An existing dataset; empty for a new one. */
  @state() private _chosen = readStored(lastKey, '');
  @state() private _name = 'answers';
  @state() private _shape: AnswerShape = 'messages';
  private readonly _action = new Action(this);

  constructor() {
    super();
    new Reread(this, datasets);
  }

  private _row(shape: AnswerShape): Readonly<Record<string, unknown>> | null {
    return this.exchange === null ? null : rowOf(shape, this.sent, this.exchange, this.index, this.tools);
  }

  /** The datasets that have rows of a shape that the answer can become. */
  private get _fitting() {
    return (datasets.value.value ?? []).flatMap(({ filename, shape }) => {
      const known = answerShapes.find((one) => one === shape);
      return known !== undefined && this._row(known) !== null ? [{ filename, shape: known }] : [];
    });
  }

  private _close(): void {
    this.querySelector('dialog')?.close();
  }

  private async _add(name: string, row: object): Promise<void> {
    await this._action.run(async () => {
      const { filename, num_examples: count } = await service.addRows(name, [{ ...row }]);
      writeStored(lastKey, filename);
      toasts.show(`Added to ${filename}, which has ${count} ${count === 1 ? 'row' : 'rows'} now.`);
      this._close();
    });
    void datasets.refresh();
  }

  protected override render(): TemplateResult {
    const fitting = this._fitting;
    const chosen = fitting.find(({ filename }) => filename === this._chosen);
    const shapes = answerShapes.filter((shape) => this._row(shape) !== null);
    const shape = chosen?.shape ?? (shapes.includes(this._shape) ? this._shape : shapes[0]);
    const row = shape === undefined ? null : this._row(shape);
    const name = chosen?.filename ?? `${this._name.trim()}${ending}`;
    const isPossible = row !== null && !this._action.busy && name !== ending;
    const submit = (event: Event) => {
      event.preventDefault();
      if (isPossible) void this._add(name, row);
    };
    const content = html`<form class="column" @submit=${submit}>
      <div class="field">
        <label for="answer-dataset">Dataset</label>
        <select
          id="answer-dataset"
          @change=${(event: Event) => {
            this._chosen = (event.target as HTMLSelectElement).value;
          }}
        >
          <option value="" ?selected=${chosen === undefined}>New dataset…</option>
          ${fitting.map(({ filename }) => html`<option value=${filename} ?selected=${filename === chosen?.filename}>${filename}</option>`)}
        </select>
      </div>
      ${chosen === undefined ? this._newFields(shapes, shape) : nothing}
      <div class="field">
        <p class="eyebrow">Row</p>
        <pre class="answer-row wrap">${JSON.stringify(row, null, 2)}</pre>
      </div>
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not add the row', this._action.error)}
      <div class="row end">
        <button type="button" @click=${() => this._close()}>Cancel</button>
        <button type="submit" class="primary" ?disabled=${!isPossible}>Add</button>
      </div>
    </form>`;
    return html`<hone-dialog heading="Add to dataset" .content=${content}></hone-dialog>`;
  }

  private _newFields(shapes: readonly AnswerShape[], chosen: AnswerShape | undefined): TemplateResult {
    return html`${textField({ name: 'Name', id: 'answer-name', value: this._name, maxLength: 90 }, (text) => {
      this._name = text;
    })}
      <div class="field">
        <label for="answer-shape">Row format</label>
        <select
          id="answer-shape"
          @change=${(event: Event) => {
            this._shape = (event.target as HTMLSelectElement).value as AnswerShape;
          }}
        >
          ${shapes.map((shape) => html`<option value=${shape} ?selected=${shape === chosen}>${shapeNames[shape]}</option>`)}
        </select>
      </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-add-answer': AddAnswer;
  }
}
