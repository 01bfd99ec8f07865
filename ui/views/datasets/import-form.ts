import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { minimumRows } from '../../../src/contract/rows.ts';
import { service } from '../../api/service.ts';
import type { Import, ImportMapping } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText, serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { datasets } from '../../state/app.ts';
import { Watch } from '../../state/store.ts';
import { emptyDraft, importFields, keptColumns, type MappingDraft, mappingOf } from './import-fields.ts';
import { importCount } from './import-problems.ts';
import { importSamples } from './import-samples.ts';
import { detectedName, hasTooFewRows, targetName } from './import-words.ts';

/** The file name of a dataset that is called `text`. */
function jsonlName(text: string): string {
  const name = text.trim();
  return name === '' || /\.jsonl$/i.test(name) ? name : `${name}.jsonl`;
}

/** How an import reads its source: the target shape, the column of each field, and what three rows become. Fires `changed` when the record is another. */
@customElement('hone-import-form')
export class ImportForm extends LightElement {
  @property({ attribute: false }) record!: Import;
  @state() private _target: string | null = null;
  @state() private _draft: MappingDraft = emptyDraft;
  /** The name of the dataset as it is typed. */
  @state() private _name = '';
  private readonly _action = new Action(this);
  /** The detected shape; the record's is that of the chosen columns. */
  private _detected: string | null = null;
  private _of = '';

  constructor() {
    super();
    new Watch(this, datasets);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    datasets.ensure();
  }

  protected override willUpdate(): void {
    const { id, rows_at, mapping } = this.record;
    // Another list has other columns.
    const of = `${id} ${rows_at}`;
    if (this._of === of) return;
    this._of = of;
    this._target = mapping?.target ?? null;
    this._draft = { ...emptyDraft, ...mapping };
    this._detected = detectedName(this.record.shape);
  }

  private get _replaces(): boolean {
    return (datasets.value.value ?? []).some(({ filename }) => filename === this._name);
  }

  /** The fields of the chosen shape; none where the detected shape is converted as it is. */
  private get _fields(): readonly string[] {
    return this.record.targets.find(({ shape }) => shape === this._target)?.fields ?? [];
  }

  /** The mapping to import with; `null` for that of the detected shape, `undefined` while a column is missing. */
  private get _mapping(): ImportMapping | null | undefined {
    if (this._target === null) return this._detected === null ? undefined : null;
    return mappingOf(this._target, this._fields, this._draft);
  }

  /** Why it cannot be started; empty if it can. */
  private get _hindrance(): string {
    if (hasTooFewRows(this.record)) return `A dataset has at least ${minimumRows} rows.`;
    return this._mapping === undefined ? 'Choose a column for each field.' : '';
  }

  /** Takes the rows of another list. */
  private async _chooseList(key: string): Promise<void> {
    this._previewed = this._action.run(async () => {
      await service.previewImport(this.record.id, { mapping: null, rows_at: key });
      this.dispatchEvent(new CustomEvent('changed'));
    });
    await this._previewed;
  }

  private _lists(): TemplateResult | typeof nothing {
    const { lists, rows_at: chosen } = this.record;
    if (lists.length < 2) return nothing;
    return html`<div class="field">
      <label for="import-list">Rows</label>
      <select
        id="import-list"
        ?disabled=${this._action.busy}
        @change=${(event: Event) => this._chooseList((event.target as HTMLSelectElement).value)}
      >
        ${lists.map(
          ({ key, rows }) =>
            html`<option value=${key} ?selected=${key === chosen}>${key} (${formatCount(rows)})</option>`,
        )}
      </select>
    </div>`;
  }

  private _choose(target: string | null): void {
    this._target = target;
    // Columns of the same name as a field need no choice.
    const names = this.record.columns.map(({ name }) => name);
    const columns = Object.fromEntries(
      this._fields.flatMap((field) => {
        const column = this._draft.columns[field] ?? names.find((name) => name.toLowerCase() === field);
        return column === undefined ? [] : [[field, column]];
      }),
    );
    this._draft = { ...this._draft, columns };
    void this._preview();
  }

  private readonly _changed = (draft: MappingDraft): void => {
    this._draft = draft;
    void this._preview();
  };

  private _previewed: Promise<void> = Promise.resolve();
  private _isStarting = false;

  private async _preview(): Promise<void> {
    const mapping = this._mapping;
    if (mapping === undefined || this._action.busy) return;
    this._previewed = this._action.run(async () => {
      await service.previewImport(this.record.id, { mapping });
      this.dispatchEvent(new CustomEvent('changed'));
    });
    await this._previewed;
    // Another choice was made meanwhile.
    if (JSON.stringify(mapping) !== JSON.stringify(this._mapping)) void this._preview();
  }

  private async _start(event: Event): Promise<void> {
    event.preventDefault();
    if (this._isStarting) return;
    this._isStarting = true;
    const form = new FormData(event.target as HTMLFormElement);
    // What was chosen last is still being previewed.
    while (this._action.busy) await this._previewed;
    const mapping = this._mapping;
    if (mapping !== undefined) {
      const name = jsonlName(String(form.get('name') ?? ''));
      await this._action.run(async () => {
        await service.startImport(this.record.id, {
          mapping,
          name: name || undefined,
          skip_invalid: form.get('skip') === null ? undefined : true,
        });
        this.dispatchEvent(new CustomEvent('changed'));
      });
    }
    this._isStarting = false;
  }

  protected override render(): TemplateResult {
    const { record } = this;
    const detected = this._detected;
    return html`<form class="import-form" @submit=${this._start}>
      <div class="fields">
        ${this._lists()}
        <div class="field">
          <label for="import-target">Import as</label>
          <select id="import-target" @change=${(event: Event) => this._choose((event.target as HTMLSelectElement).value || null)}>
            ${
              record.mapping === null || detected !== null
                ? html`<option value="" ?selected=${this._target === null} ?disabled=${detected === null}>
                    ${detected === null ? 'Choose…' : `Detected: ${detected}`}
                  </option>`
                : nothing
            }
            ${record.targets.map(
              ({ shape }) =>
                html`<option value=${shape} ?selected=${this._target === shape}>${targetName(shape)}</option>`,
            )}
          </select>
        </div>
        ${
          this._target === null
            ? nothing
            : importFields(
                this._target,
                { fields: this._fields, columns: record.columns },
                this._draft,
                this._changed,
              )
        }
      </div>
      ${this._target === null ? nothing : keptColumns(record.columns, this._draft, this._changed)}
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not apply this', this._action.error)}
      <div class="import-shown" aria-busy=${this._action.busy}>${importCount(record)} ${importSamples(record)}</div>
      <div class="fields">
        <div class="field">
          <label for="import-name">Name of the dataset</label>
          <input
            id="import-name"
            name="name"
            type="text"
            autocomplete="off"
            spellcheck="false"
            aria-describedby="import-name-hint"
            @input=${(event: Event) => {
              this._name = jsonlName((event.target as HTMLInputElement).value);
            }}
          />
          <p class="hint wrap" id="import-name-hint" role="status">
            ${this._replaces ? html`Replaces the dataset ${nameText(this._name)}.` : 'Left empty, it is named after its source.'}
          </p>
        </div>
      </div>
      <label class="check"><input type="checkbox" name="skip" /> Skip invalid rows</label>
      <div class="row">
        <button type="submit" class="primary" data-next ?disabled=${this._hindrance !== ''}>Start import</button>
        <span class="muted" role="status">${this._hindrance || (this._action.busy ? 'Reading…' : '')}</span>
      </div>
    </form>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-import-form': ImportForm;
  }
}
