import { html, nothing, type TemplateResult } from 'lit';
import { keyedRow } from '../../elements/child.ts';
import { rangeField } from '../../elements/fields.ts';
import { type Answerer, canScale, chosenWeights, type ModelFacts, weightsOf } from './answerer.ts';
import type { ModelChoice } from './choices.ts';

/** The letters of the sides, as many as can be compared. */
export const sideLetters = ['A', 'B', 'C', 'D'] as const;
/** The letter of a side, or none if there is only one. */
export type SideLetter = '' | (typeof sideLetters)[number];

const withLetter = (name: string, letter: SideLetter) => (letter === '' ? name : `${name} ${letter}`);

/** A choice of a model, or of a run. @param options.same the name of the choice that follows the other side, if there is one. */
export function modelField(options: {
  readonly letter: SideLetter;
  readonly id: string;
  readonly choices: readonly ModelChoice[];
  readonly modelId: string;
  readonly same?: string;
  readonly choose: (modelId: string) => void;
}): TemplateResult {
  const { letter, id, choices, modelId, same, choose } = options;
  const isListed = choices.some((choice) => choice.modelId === modelId);
  const listed = (some: readonly ModelChoice[]) =>
    keyedRow(
      some,
      (choice) => choice.modelId,
      (choice) =>
        html`<option value=${choice.modelId} ?selected=${choice.modelId === modelId}>${choice.name}</option>`,
    );
  const group = (label: string, kind: ModelChoice['kind']) => {
    const some = choices.filter((choice) => choice.kind === kind);
    return some.length === 0 ? nothing : html`<optgroup label=${label}>${listed(some)}</optgroup>`;
  };
  return html`<div class="field">
    <label for=${id}>${withLetter('Model', letter)}</label>
    <select
      id=${id}
      .value=${modelId}
      @change=${(event: Event) => choose((event.target as HTMLSelectElement).value)}
    >
      ${same === undefined ? nothing : html`<option value="" ?selected=${modelId === ''}>${same}</option>`}
      ${isListed || same !== undefined ? nothing : html`<option value=${modelId} selected>Choose a model…</option>`}
      ${listed(choices.filter(({ kind }) => kind === 'model'))}
      ${group('Runs without a model', 'run')} ${group('Base models', 'base')}
    </select>
  </div>`;
}

/** The choices of a model's weights and of its adapter's strength, as far as it has any. */
export function weightsFields(
  letter: SideLetter,
  facts: ModelFacts,
  answerer: Answerer,
  set: (part: Partial<Answerer>) => void,
): TemplateResult {
  const id = letter === '' || letter === 'A' ? '' : `${letter.toLowerCase()}-`;
  const choices = weightsOf(facts);
  const chosen = chosenWeights(facts, answerer).value;
  return html`${
    choices.length < 2
      ? nothing
      : html`<div class="field">
          <label for="${id}weights">${withLetter('Version', letter)}</label>
          <select
            id="${id}weights"
            .value=${chosen}
            @change=${(event: Event) => set({ weights: (event.target as HTMLSelectElement).value })}
          >
            ${keyedRow(
              choices,
              ({ value }) => value,
              ({ value, name }) =>
                html`<option value=${value} ?selected=${value === chosen}>${name}</option>`,
            )}
          </select>
        </div>`
  }
  ${
    canScale(facts, answerer)
      ? rangeField(
          {
            name: withLetter('Adapter strength', letter),
            id: `${id}scale`,
            value: answerer.scale,
            min: 0,
            max: 2,
            step: 0.05,
            hint: '1 = as trained, 0 = base.',
          },
          (scale) => set({ scale }),
        )
      : nothing
  }`;
}
