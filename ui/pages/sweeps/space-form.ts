import { html, nothing, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { keyedRow } from '../../elements/child.ts';
import { LightElement } from '../../elements/light-element.ts';
import { defaultSettings } from '../../settings/form-defaults.ts';
import { rangeText, type SettingField, settingField } from '../../settings/setting-values.ts';
import {
  type DimensionField,
  dimensionFields,
  proposedDimension,
  variedFields,
} from '../../settings/sweep-space.ts';
import { choices, settings } from '../../state/app.ts';
import { draft } from '../../state/drafts/draft.ts';
import { sweepDraft, type WrittenDimension } from '../../state/drafts/sweep-draft.ts';
import { Watch } from '../../state/store.ts';

const isNumber = ({ kind }: SettingField) => kind === 'integer' || kind === 'number';

/** The settings that vary, each with its values or its range. */
@customElement('hone-space-form')
export class SpaceForm extends LightElement {
  constructor() {
    super();
    new Watch(this, choices, draft, settings, sweepDraft);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    choices.ensure();
    settings.ensure();
  }

  protected override render(): TemplateResult {
    const { strategy } = draft.value;
    const dimensions = dimensionFields(sweepDraft.value, strategy);
    const others = variedFields(strategy).filter(({ name }) => sweepDraft.value.space[name] === undefined);
    return html`
      ${
        dimensions.length === 0
          ? html`<p class="note">Nothing varies yet. Add at least one setting.</p>`
          : html`<ul class="list space">
              ${keyedRow(
                dimensions,
                ({ field }) => field.name,
                (dimension) => this._dimension(dimension),
              )}
            </ul>`
      }
      <select class="narrow" aria-label="Add a setting that varies" @change=${this._add}>
        <option value="">Add a setting…</option>
        ${others.map(({ name, label }) => html`<option value=${name}>${label}</option>`)}
      </select>
    `;
  }

  private _add(event: Event): void {
    const select = event.target as HTMLSelectElement;
    const field = settingField(select.value, draft.value.strategy);
    select.value = '';
    if (field === undefined) return;
    sweepDraft.dimension(field.name, proposedDimension(field, draft.value, defaultSettings() ?? {}));
  }

  private _dimension({ field, written, read }: DimensionField): TemplateResult {
    const { name, label } = field;
    const change = (part: Partial<WrittenDimension>) => sweepDraft.dimension(name, { ...written, ...part });
    const fault = 'fault' in read ? read.fault : null;
    const id = `space-${name}`;
    const own = draft.value.settings[name];
    return html`<li><div class="dimension" role="group" aria-labelledby=${id}>
      <div class="row between">
        <h3 id=${id}>${label}</h3>
        <button type="button" class="tool" aria-label="Remove ${label}" @click=${() => sweepDraft.dimension(name, null)}>
          <span aria-hidden="true">×</span>
        </button>
      </div>
      <div class="fields dimension-fields">
        ${isNumber(field) ? this._kind(field, written, change) : nothing}
        ${
          written.kind === 'choices'
            ? this._text(field, 'choices', 'Values, separated by commas', written.choices, fault, change)
            : html`${this._text(field, 'low', 'From', written.low, fault, change)}
                ${this._text(field, 'high', 'To', written.high, fault, change)}
                <label class="check dimension-log">
                  <input
                    type="checkbox"
                    .checked=${written.log}
                    @change=${(event: Event) => change({ log: (event.target as HTMLInputElement).checked })}
                  />
                  Log scale
                </label>`
        }
      </div>
      ${fault === null ? nothing : html`<p class="fault" id="${id}-fault">${fault}</p>`}
      <p class="hint" id="${id}-hint">${this._hint(field)}${own === undefined ? nothing : ` In the training form: ${own}.`}</p>
    </div></li>`;
  }

  private _kind(
    { name, label }: SettingField,
    { kind }: WrittenDimension,
    change: (part: Partial<WrittenDimension>) => void,
  ): TemplateResult {
    return html`<div class="field">
      <label for="space-${name}-kind">Values<span class="off-screen"> of ${label}</span></label>
      <select
        id="space-${name}-kind"
        .value=${kind}
        @change=${(event: Event) => change({ kind: (event.target as HTMLSelectElement).value as WrittenDimension['kind'] })}
      >
        <option value="range" ?selected=${kind === 'range'}>A range</option>
        <option value="choices" ?selected=${kind === 'choices'}>Some values</option>
      </select>
    </div>`;
  }

  private _text(
    { name }: SettingField,
    part: 'low' | 'high' | 'choices',
    label: string,
    value: string,
    fault: string | null,
    change: (part: Partial<WrittenDimension>) => void,
  ): TemplateResult {
    const id = `space-${name}-${part}`;
    return html`<div class="field ${part === 'choices' ? 'dimension-choices' : ''}">
      <label for=${id}>${label}</label>
      <input
        id=${id}
        type="text"
        autocomplete="off"
        inputmode=${part === 'choices' ? 'text' : 'decimal'}
        aria-describedby="${fault === null ? '' : `space-${name}-fault `}space-${name}-hint"
        aria-invalid=${fault === null ? nothing : 'true'}
        .value=${value}
        @input=${(event: Event) => change({ [part]: (event.target as HTMLInputElement).value })}
      />
    </div>`;
  }

  /** What values there are. */
  private _hint(field: SettingField): string {
    if (field.kind === 'switch') return 'on, off.';
    if (field.kind !== 'choice') return `Range: ${rangeText(field)}.`;
    const told = choices.value.value;
    const known = field.name === 'optim' ? told?.optimizers : told?.lr_scheduler_types;
    return known === undefined ? '' : `One of ${known.join(', ')}.`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-space-form': SpaceForm;
  }
}
