import { html, nothing, type TemplateResult } from 'lit';
import type { Import, ImportMapping } from '../../api/types.ts';

/** A mapping while it is chosen: fields may be missing. */
export interface MappingDraft {
  readonly columns: Readonly<Record<string, string>>;
  readonly templates: Readonly<Record<string, string>>;
  /** Empty for none. */
  readonly system: string;
  readonly metadata: readonly string[];
  readonly labels: 'names' | 'numbers';
}

export const emptyDraft: MappingDraft = {
  columns: {},
  templates: {},
  system: '',
  metadata: [],
  labels: 'names',
};

/** The choice of a text with several columns; no column can have this name in a template. */
const asTemplate = '{{}}';
/** Shapes whose rows can have a system prompt. */
const withSystem = ['input-output', 'messages'];

/** The mapping of a draft; `undefined` while a field of it has neither a column nor a template. */
export function mappingOf(
  target: string,
  fields: readonly string[],
  { columns, templates, system, metadata, labels }: MappingDraft,
): ImportMapping | undefined {
  const isGiven = (field: string) => columns[field] !== undefined || (templates[field] ?? '').trim() !== '';
  if (!fields.every(isGiven)) return undefined;
  const filled = fields.filter((field) => columns[field] === undefined);
  const pick = (from: Readonly<Record<string, string>>, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, from[name] as string]));
  return {
    target: target as ImportMapping['target'],
    columns: pick(
      columns,
      fields.filter((field) => columns[field] !== undefined),
    ),
    // Absent rather than `undefined`: a mapping is laid over an empty draft.
    ...(filled.length === 0 ? {} : { templates: pick(templates, filled) }),
    ...(system.trim() === '' || !withSystem.includes(target) ? {} : { system }),
    ...(metadata.length === 0 ? {} : { metadata: [...metadata] }),
    ...(labels === 'names' ? {} : { labels }),
  };
}

/** Where the fields of a shape come from. @param change is called with another draft. */
export function importFields(
  target: string,
  { fields, columns }: { fields: readonly string[]; columns: Import['columns'] },
  draft: MappingDraft,
  change: (draft: MappingDraft) => void,
): TemplateResult {
  return html`${fields.map((field) => fieldChoice(field, columns, draft, change))}
    ${withSystem.includes(target) ? systemField(draft, change) : nothing}`;
}

function fieldChoice(
  field: string,
  columns: Import['columns'],
  draft: MappingDraft,
  change: (draft: MappingDraft) => void,
): TemplateResult {
  const chosen = draft.columns[field];
  const template = draft.templates[field];
  const isTemplate = chosen === undefined && template !== undefined;
  const choose = (value: string) => {
    const { [field]: _column, ...others } = draft.columns;
    if (value !== asTemplate) return change({ ...draft, columns: { ...others, [field]: value } });
    const text = template ?? (chosen === undefined ? '' : `{{${chosen}}}`);
    change({ ...draft, columns: others, templates: { ...draft.templates, [field]: text } });
  };
  return html`<div class="field">
    <label for="import-${field}"><span>Column for <code>${field}</code></span></label>
    <select
      id="import-${field}"
      @change=${(event: Event) => choose((event.target as HTMLSelectElement).value)}
    >
      ${chosen === undefined && !isTemplate ? html`<option value="" selected disabled>Choose…</option>` : nothing}
      ${columns.map(
        ({ name, type }) =>
          html`<option value=${name} ?selected=${name === chosen}>${name} (${type})</option>`,
      )}
      ${
        field === 'messages'
          ? nothing
          : html`<option value=${asTemplate} ?selected=${isTemplate}>Text with columns…</option>`
      }
    </select>
    ${
      isTemplate
        ? textField(`import-${field}-text`, `Text for ${field}`, template, (text) =>
            change({ ...draft, templates: { ...draft.templates, [field]: text } }),
          )
        : nothing
    }
  </div>`;
}

/** A text with columns in it, which counts once it is left. */
const textField = (id: string, label: string, value: string, set: (text: string) => void) =>
  html`<textarea
      id=${id}
      class="mono"
      rows="3"
      aria-label=${label}
      aria-describedby="${id}-hint"
      spellcheck="false"
      .value=${value}
      @change=${(event: Event) => set((event.target as HTMLTextAreaElement).value)}
    ></textarea>
    <p class="hint" id="${id}-hint">Columns in double braces: <code>{{Team}}: {{Answer}}</code>; <code>\\{{</code> is <code>{{</code> itself.</p>`;

const systemField = (draft: MappingDraft, change: (draft: MappingDraft) => void) =>
  html`<div class="field">
    <label for="import-system">System prompt, optional</label>
    <textarea
      id="import-system"
      rows="3"
      aria-describedby="import-system-hint"
      .value=${draft.system}
      @change=${(event: Event) => change({ ...draft, system: (event.target as HTMLTextAreaElement).value })}
    ></textarea>
    <p class="hint" id="import-system-hint">The same for every row, or with columns. Rows become conversations.</p>
  </div>`;

/** The columns that rows keep, unfolded by who needs them, and what labels become. */
export const keptColumns = (
  columns: Import['columns'],
  draft: MappingDraft,
  change: (draft: MappingDraft) => void,
) =>
  html`${
    columns.some(({ type }) => type === 'label')
      ? html`<label class="check">
          <input
            type="checkbox"
            .checked=${draft.labels === 'numbers'}
            @change=${(event: Event) =>
              change({ ...draft, labels: (event.target as HTMLInputElement).checked ? 'numbers' : 'names' })}
          />
          Keep the numbers of labels
        </label>`
      : nothing
  }
  <details class="fold">
    <summary>Keep columns as metadata${draft.metadata.length === 0 ? nothing : ` (${draft.metadata.length})`}</summary>
    <div class="row wrap-row">
      ${columns.map(
        ({ name }) => html`<label class="check">
        <input
          type="checkbox"
          .checked=${draft.metadata.includes(name)}
          @change=${(event: Event) => {
            const others = draft.metadata.filter((one) => one !== name);
            const isKept = (event.target as HTMLInputElement).checked;
            change({ ...draft, metadata: isKept ? [...others, name] : others });
          }}
        />
        <bdi>${name}</bdi>
      </label>`,
      )}
    </div>
  </details>`;
