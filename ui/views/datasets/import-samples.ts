import { html, nothing, type TemplateResult } from 'lit';
import type { Import } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { rowUnit } from './import-words.ts';
import { asObject, cutText, rowFields, textOf } from './row-fields.ts';

const textLimit = 300;
/** The most characters of a cell. */
const cellLimit = 120;

/** The first rows of the source as a table, its used columns marked, and what the import makes of them. */
export function importSamples(record: Import): TemplateResult {
  const { samples } = record;
  const unit = rowUnit(record);
  const uses = usesOf(record);
  const names = columnsOf(record);
  const left = names.filter((name) => !uses.has(name));
  return html`<div class="scroll-box" tabindex="0" role="region" aria-label="First rows of the source">
      <table class="rows import-table">
        <thead>
          <tr>
            <th scope="col" class="right">${unit}</th>
            ${names.map((name) => {
              const fields = uses.get(name);
              return html`<th scope="col" data-used=${fields === undefined ? nothing : 'yes'}>
                <bdi>${name}</bdi>
                ${fields === undefined ? nothing : html`<span class="tag">${[...fields].join(', ') || 'used'}</span>`}
              </th>`;
            })}
          </tr>
        </thead>
        <tbody>
          ${samples.map(({ row, before }) => {
            const values = before === null ? {} : asObject(before);
            return html`<tr>
              <td class="right">${formatCount(row)}</td>
              ${names.map(
                (name) =>
                  html`<td class="wrap" data-used=${uses.has(name) ? 'yes' : nothing}><bdi>${cutText(textOf(values[name]), cellLimit)}</bdi></td>`,
              )}
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
    ${
      uses.size === 0 || left.length === 0
        ? nothing
        : html`<p class="muted wrap">Not used: <bdi>${left.join(', ')}</bdi></p>`
    }
    <ol class="import-samples">
      ${samples.map(
        ({ row, after, problem }) => html`<li class="import-side" aria-label="${unit} ${row}">
          <h2>${unit} ${formatCount(row)} <span class="muted">becomes</span></h2>
          ${problem === null ? nothing : html`<p class="fault wrap"><bdi>${problem}</bdi></p>`}
          ${after == null ? (problem === null ? html`<p class="muted">Choose a column for each field.</p>` : nothing) : rowFields(after, null, textLimit)}
        </li>`,
      )}
    </ol>`;
}

/** The columns of the samples. */
const columnsOf = ({ samples }: Import) => [
  ...new Set(samples.flatMap(({ before }) => (before === null ? [] : Object.keys(asObject(before))))),
];

/** The fields that each column of the source is used for, none where the detected format says so. */
function usesOf(record: Import): Map<string, Set<string>> {
  const { used, mapping } = record;
  const { columns = {}, templates = {}, system = '', metadata = [] } = mapping ?? {};
  const top = columnsOf(record);
  const uses = new Map<string, Set<string>>();
  const add = (column: string, field: string | null) => {
    const root = top.includes(column) ? column : top.find((name) => column.startsWith(`${name}.`));
    if (root === undefined) return;
    const fields = uses.get(root) ?? new Set();
    if (field !== null) fields.add(field);
    uses.set(root, fields);
  };
  const named = (text: string) =>
    [...text.matchAll(/\{\{([\s\S]*?)\}\}/g)].map(([, name = '']) => name.trim());
  for (const column of used) add(column, null);
  for (const [field, column] of Object.entries(columns)) add(column, field);
  for (const [field, text] of Object.entries(templates)) for (const column of named(text)) add(column, field);
  for (const column of named(system)) add(column, 'system');
  for (const column of metadata) add(column, 'metadata');
  return uses;
}
