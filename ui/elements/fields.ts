import { html, nothing, type TemplateResult } from 'lit';
import type { Child } from './child.ts';

/** A slider with its value beside its name. */
export function rangeField(
  field: {
    readonly name: string;
    readonly id: string;
    readonly value: number;
    readonly min: number;
    readonly max: number;
    readonly step: number;
    readonly hint: string;
  },
  set: (value: number) => void,
): TemplateResult {
  const { name, id, value, min, max, step, hint } = field;
  return html`<div class="field">
    <label for=${id}>${name} <output class="tabular">${value.toFixed(2)}</output></label>
    <input
      id=${id}
      type="range"
      min=${min}
      max=${max}
      step=${step}
      aria-describedby="${id}-hint"
      .value=${String(value)}
      @input=${(event: Event) => set(Number((event.target as HTMLInputElement).value))}
    />
    <p class="hint" id="${id}-hint">${hint}</p>
  </div>`;
}

/** A field for one line of text, with its hint and what is wrong with it. @param leave is called after a change. */
export function textField(
  field: {
    readonly name: string;
    readonly id: string;
    readonly value: string;
    readonly hint?: Child;
    /** In words; or only that it is wrong, where something else tells what. */
    readonly fault?: string | boolean;
    readonly placeholder?: string;
    readonly maxLength?: number;
    readonly inputMode?: 'decimal' | 'numeric';
    readonly hasFocus?: boolean;
  },
  set: (text: string) => void,
  leave?: (text: string) => void,
): TemplateResult {
  const { name, id, value, hint, fault = false, placeholder, maxLength, inputMode, hasFocus = false } = field;
  const isTold = typeof fault === 'string';
  const described = [...(hint === undefined ? [] : [`${id}-hint`]), ...(isTold ? [`${id}-fault`] : [])].join(
    ' ',
  );
  return html`<div class="field">
    <label for=${id}>${name}</label>
    <input
      id=${id}
      type="text"
      ?autofocus=${hasFocus}
      autocomplete="off"
      spellcheck="false"
      inputmode=${inputMode ?? nothing}
      placeholder=${placeholder ?? nothing}
      maxlength=${maxLength ?? nothing}
      aria-describedby=${described || nothing}
      aria-invalid=${fault === false ? nothing : 'true'}
      .value=${value}
      @input=${(event: Event) => set((event.target as HTMLInputElement).value)}
      @change=${(event: Event) => leave?.((event.target as HTMLInputElement).value)}
    />
    ${hint === undefined ? nothing : html`<p class="hint" id="${id}-hint">${hint}</p>`}
    ${isTold ? html`<p class="fault" id="${id}-fault">${fault}</p>` : nothing}
  </div>`;
}

/** A checkbox with its name. @param title is told by the pointer, and to screen readers. */
export function checkField(
  name: Child,
  on: boolean,
  set: (on: boolean) => void,
  title?: string,
): TemplateResult {
  return html`<label class="check" title=${title ?? nothing}>
    <input
      type="checkbox"
      .checked=${on}
      @change=${(event: Event) => set((event.target as HTMLInputElement).checked)}
    />
    ${name}
  </label>`;
}

/** A list to choose from: values with their words. */
export function selectField(
  field: {
    readonly name: string;
    readonly id: string;
    readonly value: string;
    readonly choices: readonly (readonly [value: string, words: string])[];
    /** The words for no choice, if there may be none. */
    readonly empty?: string;
  },
  set: (value: string) => void,
): TemplateResult {
  const { name, id, value, choices, empty } = field;
  const options = empty === undefined ? choices : [['', empty] as const, ...choices];
  return html`<div class="field">
    <label for=${id}>${name}</label>
    <select id=${id} @change=${(event: Event) => set((event.target as HTMLSelectElement).value)}>
      ${options.map(([one, words]) => html`<option value=${one} ?selected=${one === value}>${words}</option>`)}
    </select>
  </div>`;
}
