import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { fieldValue, type GraderField, graderForms } from '../../../src/contract/graders/grader-fields.ts';
import { type GraderType, graderTypes } from '../../../src/contract/graders/grader-types.ts';
import { type GraderBody, service } from '../../api/service.ts';
import { selectField, textField } from '../../elements/fields.ts';
import { LightElement } from '../../elements/light-element.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { graders } from '../../state/app.ts';

/** The form for a new grader. */
@customElement('hone-grader-form')
export class GraderForm extends LightElement {
  @state() private _name = '';
  @state() private _type: GraderType = 'string_check';
  /** As typed, by the name of the field; others have their first values. */
  @state() private _typed: Readonly<Record<string, string>> = {};
  private readonly _action = new Action(this);

  private get _fields(): readonly GraderField[] {
    return graderForms[this._type].fields;
  }

  private _text({ name, value = '', choices = [] }: GraderField): string {
    return this._typed[name] ?? choices[0] ?? value;
  }

  /** The definition as it is written. @throws SyntaxError. */
  private _definition(): GraderBody {
    const written = this._fields.map((field) => [field.name, fieldValue(field, this._text(field))] as const);
    const fields = Object.fromEntries(written.filter(([, value]) => value !== undefined));
    return { type: this._type, name: this._name.trim(), ...fields } as GraderBody;
  }

  /** What is wrong with what is typed, or `null`. */
  private get _fault(): string | null {
    try {
      this._definition();
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  private async _add(event: Event): Promise<void> {
    event.preventDefault();
    if (this._fault !== null) return;
    await this._action.run(async () => {
      await service.addGrader(this._definition());
      this._name = '';
      void graders.refresh();
    });
  }

  protected override render(): TemplateResult {
    const fault = this._fault;
    return html`<form class="grader-form" @submit=${(event: Event) => this._add(event)}>
      <div class="fields">
        ${textField({ name: 'Name', id: 'grader-name', value: this._name, maxLength: 64 }, (text) => {
          this._name = text;
        })}
        ${selectField(
          {
            name: 'Type',
            id: 'grader-type',
            value: this._type,
            choices: graderTypes.map((type) => [type, graderForms[type].label] as const),
          },
          (type) => {
            this._type = type as GraderType;
            this._typed = {};
          },
        )}
        ${this._fields.map((field) => this._field(field))}
      </div>
      ${fault === null ? nothing : html`<p class="fault" role="status">${fault}</p>`}
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not store the grader', this._action.error)}
      <div class="row end">
        <button
          type="submit"
          class="primary"
          ?disabled=${this._action.busy || fault !== null || this._name.trim() === ''}
        >
          Store grader
        </button>
      </div>
    </form>`;
  }

  private _field(field: GraderField): TemplateResult {
    const { name, label, kind, choices } = field;
    const id = `grader-${name}`;
    const value = this._text(field);
    const set = (text: string) => {
      this._typed = { ...this._typed, [name]: text };
    };
    if (choices !== undefined)
      return selectField(
        { name: label, id, value, choices: choices.map((choice) => [choice, choice] as const) },
        set,
      );
    if (kind === 'number') return textField({ name: label, id, value, inputMode: 'decimal' }, set);
    if (kind === 'text') return textField({ name: label, id, value }, set);
    return html`<div class="field">
      <label for=${id}>${label}</label>
      <textarea
        id=${id}
        class=${kind === 'lines' ? nothing : 'mono'}
        rows="5"
        spellcheck="false"
        .value=${value}
        @input=${(event: Event) => set((event.target as HTMLTextAreaElement).value)}
      ></textarea>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-grader-form': GraderForm;
  }
}
