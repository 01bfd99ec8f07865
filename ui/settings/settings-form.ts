import { html, noChange, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { live } from 'lit/directives/live.js';
import {
  type TrackerName,
  trackerNames,
  trackers,
  usualProject,
} from '../../src/contract/training/trackers.ts';
import type { FieldFault } from '../api/request.ts';
import { checkField } from '../elements/fields.ts';
import { info } from '../elements/info/info.ts';
import { LightElement } from '../elements/light-element.ts';
import { serviceErrorPanel, skeleton } from '../elements/parts.ts';
import { choices, datasets, settings } from '../state/app.ts';
import { shapesFor } from '../state/choice-words.ts';
import { draft } from '../state/drafts/draft.ts';
import { presetFacts } from '../state/preset-facts.ts';
import { Watch } from '../state/store.ts';
import { defaultSettings } from './form-defaults.ts';
import './grader-names.ts';
import './teacher-names.ts';
import {
  derivedHint,
  emptyText,
  type FieldGroup,
  groupsFor,
  type SettingField,
  settingText,
  valueIfLeftOut,
} from './setting-values.ts';

/** The settings that most runs differ in; the others are collapsed. */
const mainFields: readonly string[] = [
  'num_train_epochs',
  'learning_rate',
  'per_device_train_batch_size',
  'max_seq_length',
];
/** A setting that a strategy cannot do without. */
const mainOf: Readonly<Record<string, string>> = { grpo: 'graders', distill: 'teacher' };

/** All settings with recommended values and help; all but a few are collapsed. */
@customElement('hone-settings-form')
export class SettingsForm extends LightElement {
  @property({ attribute: false }) faults: readonly FieldFault[] = [];
  /** A group that comes before those of the settings. */
  @property({ attribute: false }) first: TemplateResult | typeof nothing = nothing;

  constructor() {
    super();
    new Watch(this, draft, settings, choices, datasets, presetFacts);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    choices.ensure();
  }

  protected override render(): TemplateResult {
    const { error } = settings.value;
    const value = defaultSettings();
    if (value === null) {
      return html`${error === null ? skeleton(8) : serviceErrorPanel('Could not load the recommended settings', error)}`;
    }
    const groups = groupsFor(draft.value.strategy, draft.value.settings.adapter);
    const isMain = ({ name }: SettingField) =>
      mainFields.includes(name) || mainOf[draft.value.strategy] === name;
    const rest = groups.map((group) => ({
      ...group,
      fields: group.fields.filter((one) => !isMain(one)),
    }));
    const changed = rest.reduce((sum, group) => sum + this._changed(group, value), 0);
    return html`<div class="fields main-fields">
        ${groups.flatMap(({ fields }) => fields.filter(isMain)).map((field) => this._field(field, valueIfLeftOut(field, draft.value, value)))}
      </div>
      <details class="fold customize" ?open=${openIf(rest.some((group) => this._isWrong(group)))}>
        <summary>Customize ${changedTag(changed)}</summary>
        <div class="folds">${this.first} ${rest.map((group) => this._group(group, value))}</div>
      </details>`;
  }

  /** How many settings of a group have another value than if they were left alone. */
  private _changed({ fields }: FieldGroup, defaults: Readonly<Record<string, unknown>>): number {
    return fields.filter(
      (field) =>
        isChanged(field, valueIfLeftOut(field, draft.value, defaults)) ||
        (field.name === 'eval_split' && draft.value.validationDataset !== '') ||
        (field.name === 'save_steps' &&
          (draft.value.quantizations !== null || draft.value.reportTo.length > 0)),
    ).length;
  }

  private _isWrong({ fields }: FieldGroup): boolean {
    return fields.some(({ name }) =>
      this.faults.some(
        ({ field }) =>
          field === name ||
          (name === 'eval_split' && field === 'validation_dataset') ||
          (name === 'save_steps' && ['export', 'report_to', 'project'].includes(field)),
      ),
    );
  }

  private _group(group: FieldGroup, defaults: Readonly<Record<string, unknown>>): TemplateResult {
    const { quantizations: types } = draft.value;
    const hasExport = group.fields.some(({ name }) => name === 'save_steps');
    return html`<details class="fold" ?open=${openIf(this._isWrong(group))}>
      <summary>
        ${group.title} ${changedTag(this._changed(group, defaults))}
        ${hasExport && types !== null ? html`<span class="tag">${types.length === 0 ? 'none' : types.join(', ')}</span>` : nothing}
      </summary>
      <div class="fields">
        ${group.fields.map((field) => [
          this._field(field, valueIfLeftOut(field, draft.value, defaults)),
          ...(field.name === 'eval_split' ? [this._validationDataset()] : []),
        ])}
      </div>
      ${hasExport ? [this._export(), this._trackers()] : nothing}
    </details>`;
  }

  private _field(field: SettingField, recommended: unknown): TemplateResult {
    const { name } = field;
    const text = draft.value.settings[name];
    const fault = this.faults.find((entry) => entry.field === name)?.message;
    const id = `setting-${name}`;
    const changed = isChanged(field, recommended);
    return html`<div class="field" data-changed=${changed ? 'yes' : nothing}>
      <label for=${id}>${field.label}</label>
      ${this._control(field, id, text, recommended, fault !== undefined)}
      ${name === 'graders' ? html`<hone-grader-names .text=${text ?? ''}></hone-grader-names>` : nothing}
      ${name === 'teacher' ? html`<hone-teacher-names></hone-teacher-names>` : nothing}
      <p class="hint" id="${id}-hint">
        ${
          name === 'eval_split' && draft.value.validationDataset !== ''
            ? html`Not used: the training validates on the <b>validation dataset</b>. Choose None there to hold out rows instead.`
            : field.help
        }
        ${name === 'adapter' && text === 'full' ? 'The other settings of this group do not act then.' : nothing}
        ${derivedHint(field)}
      </p>
      ${
        !changed
          ? nothing
          : html`<button type="button" class="link" @click=${() => draft.setting(name, null)}>
              Reset to ${recommended == null ? emptyText(field) : settingText(recommended)}
              <span class="off-screen">for ${field.label}</span>
            </button>`
      }
      ${fault === undefined ? nothing : html`<p class="fault" id="${id}-fault">${fault}</p>`}
    </div>`;
  }

  /** The dataset to validate on; it excludes the validation share. */
  private _validationDataset(): TemplateResult {
    const { dataset, validationDataset: chosen } = draft.value;
    const all = datasets.value.value ?? [];
    const shape = all.find(({ filename }) => filename === dataset)?.shape;
    const shapes = shape == null ? shapesFor(draft.value) : [shape];
    const fitting = all.filter(
      (entry) =>
        entry.valid && entry.filename !== dataset && (shapes?.some((one) => one === entry.shape) ?? true),
    );
    const names = [
      ...new Set([...(chosen === '' ? [] : [chosen]), ...fitting.map(({ filename }) => filename)]),
    ];
    const fault = this.faults.find(({ field }) => field === 'validation_dataset')?.message;
    const id = 'setting-validation_dataset';
    return html`<div class="field" data-changed=${chosen === '' ? nothing : 'yes'}>
      <label for=${id}>Validation dataset</label>
      <select
        id=${id}
        aria-describedby="${fault === undefined ? '' : `${id}-fault `}${id}-hint"
        aria-invalid=${fault === undefined ? nothing : 'true'}
        @change=${(event: Event) => draft.change({ validationDataset: (event.target as HTMLSelectElement).value })}
      >
        <option value="" .selected=${chosen === ''}>None</option>
        ${names.map((name) => html`<option value=${name} .selected=${name === chosen}>${name}</option>`)}
      </select>
      <p class="hint" id="${id}-hint">
        Validation rows with the same fields as the dataset, instead of a part of it.
        ${names.length === 0 ? html`To make one, open a <a href="/datasets">dataset</a> and split it.` : nothing}
      </p>
      ${fault === undefined ? nothing : html`<p class="fault" id="${id}-fault">${fault}</p>`}
    </div>`;
  }

  private _control(
    field: SettingField,
    id: string,
    text: string | undefined,
    recommended: unknown,
    wrong: boolean,
  ): TemplateResult {
    const { name, kind } = field;
    const described = wrong ? `${id}-fault ${id}-hint` : `${id}-hint`;
    const set = (event: Event) => {
      const value = (event.target as HTMLInputElement).value;
      // Kept even if it equals the default of the moment, which changes once the dataset is known.
      draft.setting(name, value === '' && given === '' ? null : value);
    };
    // An emptied field stays empty while edited and gets the recommended value on blur.
    const leave = (event: Event) => {
      if ((event.target as HTMLInputElement).value.trim() === '') draft.setting(name, null);
    };
    const given =
      recommended == null
        ? ''
        : typeof recommended === 'boolean'
          ? recommended
            ? 'on'
            : 'off'
          : String(recommended);
    if (kind === 'switch' || kind === 'choice') {
      const choices = kind === 'switch' ? ['on', 'off'] : this._choices(field, given, text);
      const chosen = text ?? given;
      return html`<select
        id=${id}
        aria-describedby=${described}
        aria-invalid=${wrong ? 'true' : nothing}
        .value=${chosen}
        @change=${set}
      >
        ${given === '' ? html`<option value="" ?selected=${chosen === ''}>automatic</option>` : nothing}
        ${choices.map((choice) => html`<option value=${choice} ?selected=${choice === chosen}>${choice}</option>`)}
      </select>`;
    }
    if (kind === 'prompts' || kind === 'graders' || kind === 'format') {
      return html`<textarea
        id=${id}
        rows="3"
        placeholder=${kind === 'graders' ? 'right\nbrief × 0.5' : emptyText(field)}
        aria-describedby=${described}
        aria-invalid=${wrong ? 'true' : nothing}
        .value=${text ?? ''}
        @input=${set}
        @change=${leave}
      ></textarea>`;
    }
    return html`<input
      id=${id}
      type="text"
      inputmode=${kind === 'names' || kind === 'text' ? 'text' : 'decimal'}
      autocomplete="off"
      ?disabled=${name === 'eval_split' && draft.value.validationDataset !== ''}
      placeholder=${emptyText(field)}
      aria-describedby=${described}
      aria-invalid=${wrong ? 'true' : nothing}
      .value=${text ?? given}
      @input=${set}
      @change=${leave}
    />`;
  }

  /** The choices of a field: its own or the service's; until these are loaded, the selected and recommended values. */
  private _choices(field: SettingField, given: string, text: string | undefined): readonly string[] {
    const known = choices.value.value;
    const told = field.name === 'optim' ? known?.optimizers : known?.lr_scheduler_types;
    const own = 'choices' in field ? field.choices : undefined;
    return own ?? told ?? [...new Set([given, text ?? given])].filter(Boolean);
  }

  private _trackers(): TemplateResult {
    const { reportTo, project } = draft.value;
    const fault = this.faults.find(({ field }) => field === 'report_to' || field === 'project')?.message;
    const toggle = (name: TrackerName, on: boolean) =>
      draft.change({ reportTo: trackerNames.filter((one) => (one === name ? on : reportTo.includes(one))) });
    return html`<h3>Trackers</h3>
      <fieldset class="quantizations">
        <legend class="hint">
          Where the figures of the run go, too; no rows and answers. <code>hone track add</code> installs them.
        </legend>
        ${trackerNames.map((name) => checkField(trackers[name].label, reportTo.includes(name), (on) => toggle(name, on)))}
      </fieldset>
      ${
        reportTo.length === 0
          ? nothing
          : html`<div class="field">
              <label for="setting-project">Project</label>
              <input
                id="setting-project"
                type="text"
                autocomplete="off"
                placeholder=${usualProject}
                aria-describedby=${fault === undefined ? nothing : 'setting-project-fault'}
                aria-invalid=${fault === undefined ? nothing : 'true'}
                .value=${project}
                @change=${(event: Event) => draft.change({ project: (event.target as HTMLInputElement).value })}
              />
              ${fault === undefined ? nothing : html`<p class="fault" id="setting-project-fault">${fault}</p>`}
            </div>`
      }`;
  }

  private _export(): TemplateResult {
    const own = draft.value.quantizations;
    const chosen = own ?? choices.value.value?.default_quantizations ?? [];
    const quantizations = choices.value.value?.quantizations ?? chosen;
    const toggle = (name: string, on: boolean) => {
      const next = quantizations.filter((other) => (other === name ? on : chosen.includes(other)));
      draft.change({ quantizations: next });
    };
    return html`<h3>GGUF files</h3>
      <fieldset class="quantizations">
        <legend class="hint">
          Types to export, best first. Q8_0 is nearly lossless; Q4_K_M is half its size. Without any, there is only the
          adapter, which the playground cannot use. By default, models that llama.cpp does not support (T5, BART) are
          trained without a GGUF file.
        </legend>
        ${quantizations.map((name) => html`<span>${checkField(html`<code>${name}</code>`, chosen.includes(name), (on) => toggle(name, on))}${info(name)}</span>`)}
      </fieldset>
      ${
        own === null
          ? nothing
          : html`<button type="button" class="link" @click=${() => draft.change({ quantizations: null })}>
              Reset to automatic <span class="off-screen">for the export</span>
            </button>`
      }`;
  }
}

/** Whether a setting was changed to another value than it has if it is left alone. */
function isChanged({ name }: SettingField, otherwise: unknown): boolean {
  const text = draft.value.settings[name];
  return text !== undefined && (otherwise == null || text !== settingText(otherwise));
}

const changedTag = (changed: number) =>
  changed > 0 ? html`<span class="tag">${changed} changed</span>` : nothing;

/**
 * A fault opens a fold, also after it was closed. Correcting the fault does not close it, as the field would vanish while
 * it is edited.
 */
const openIf = (wrong: boolean) => (wrong ? live(true) : noChange) as boolean;

declare global {
  interface HTMLElementTagNameMap {
    'hone-settings-form': SettingsForm;
  }
}
