import { html, type TemplateResult } from 'lit';

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

/** A checkbox with its name. */
export function checkField(name: string, on: boolean, set: (on: boolean) => void): TemplateResult {
  return html`<label class="check">
    <input
      type="checkbox"
      .checked=${on}
      @change=${(event: Event) => set((event.target as HTMLInputElement).checked)}
    />
    ${name}
  </label>`;
}
