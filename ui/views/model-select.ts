import { html, nothing, type TemplateResult } from 'lit';
import type { ListedModel, LocalModel } from '../api/types.ts';
import { shortModelName } from '../elements/parts.ts';

/** A model that can be named in requests: its name in the API, and what it is called. */
export interface Target {
  readonly name: string;
  readonly words: string;
  readonly group: 'Trained' | 'Other services' | 'Base models';
}

const groups = ['Trained', 'Other services', 'Base models'] as const;
const basePrefix = 'base:';

/** What a model that an alias stands for is called; a base model without the folder that it is in. */
export const targetWords = (name: string): string =>
  name.startsWith(basePrefix) ? shortModelName(name.slice(basePrefix.length)) : name;

/** The models that aliases may stand for. @param aliases the names that are aliases themselves. */
export function targetsOf(
  listed: readonly ListedModel[],
  bases: readonly LocalModel[],
  aliases: readonly string[],
): readonly Target[] {
  const models = listed.flatMap(({ id, owned_by: owner }): Target[] =>
    aliases.includes(id)
      ? []
      : [{ name: id, words: id, group: owner === 'hone' ? 'Trained' : 'Other services' }],
  );
  const base = bases.flatMap(({ answers_as: name }): Target[] =>
    name === null ? [] : [{ name, words: targetWords(name), group: 'Base models' }],
  );
  return [...models, ...base];
}

/** A list of models to choose from. @param set is called with the name of the chosen one. */
export function modelSelect(
  field: {
    readonly name: string;
    readonly id: string;
    readonly value: string;
    readonly targets: readonly Target[];
  },
  set: (name: string) => void,
): TemplateResult {
  const { name, id, value, targets } = field;
  const group = (label: Target['group']) => {
    const some = targets.filter((target) => target.group === label);
    return some.length === 0
      ? nothing
      : html`<optgroup label=${label}>
          ${some.map((target) => html`<option value=${target.name} ?selected=${target.name === value}>${target.words}</option>`)}
        </optgroup>`;
  };
  return html`<div class="field">
    <label for=${id}>${name}</label>
    <select id=${id} .value=${value} @change=${(event: Event) => set((event.target as HTMLSelectElement).value)}>
      <option value="" ?selected=${value === ''}>Choose…</option>
      ${groups.map(group)}
    </select>
  </div>`;
}
