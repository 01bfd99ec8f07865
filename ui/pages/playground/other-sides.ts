import { html, nothing, type TemplateResult } from 'lit';
import { type Answerer, type AnswererSide, type ModelFacts, unusedWeights } from './answerer.ts';
import { modelField, sideLetters, weightsFields } from './answerer-fields.ts';
import type { ModelChoice } from './choices.ts';

/** The sides that are compared with the first one, and how they change. */
export interface OtherSides {
  /** All sides, with the first one. */
  readonly sides: readonly AnswererSide[];
  /** Those after it, as they were chosen; an empty ID follows the first one's model. */
  readonly others: readonly Answerer[];
  readonly choices: readonly ModelChoice[];
  readonly set: (others: readonly Answerer[]) => void;
  /** Called when one was removed, whose button had the focus. */
  readonly removed: () => void;
}

/** The fields of the sides after the first one, and the button that adds one, which has the ID `add-version`. */
export function otherSidesFields(options: OtherSides): TemplateResult {
  const { sides } = options;
  const [first, ...others] = sides;
  return html`${others.map((side, index) => fieldsOf(side, index, options))}
  ${first?.facts == null || sides.length >= sideLetters.length ? nothing : addButton(first.facts, options)}`;
}

function fieldsOf(
  { answerer, facts }: AnswererSide,
  index: number,
  { others, choices, set, removed }: OtherSides,
): TemplateResult {
  const letter = sideLetters[index + 1] ?? '';
  const change = (part: Partial<Answerer>) =>
    set(others.map((other, place) => (place === index ? { ...other, ...part } : other)));
  const remove = () => {
    set(others.filter((_, place) => place !== index));
    removed();
  };
  return html`<div class="other-side">
    ${modelField({
      letter,
      id: `${letter.toLowerCase()}-model`,
      choices,
      modelId: others[index]?.modelId ?? '',
      same: 'Same as A',
      choose: (id) => change({ modelId: id, weights: id === '' ? 'base' : '', scale: 1 }),
    })}
    ${facts === null ? nothing : weightsFields(letter, facts, answerer, change)}
    ${
      others.length < 2
        ? nothing
        : html`<button type="button" class="tool" @click=${remove}>Remove ${letter}</button>`
    }
  </div>`;
}

function addButton(facts: ModelFacts, { sides, others, set }: OtherSides): TemplateResult {
  const [first] = sides;
  const taken = sides
    .map(({ answerer }) => answerer)
    .filter(({ modelId }) => modelId === first?.answerer.modelId);
  const add = () => set([...others, { modelId: '', weights: unusedWeights(facts, taken), scale: 1 }]);
  return html`<button type="button" id="add-version" @click=${add}>Compare another version</button>`;
}
