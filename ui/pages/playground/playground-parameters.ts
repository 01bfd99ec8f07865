import { html, nothing, type TemplateResult } from 'lit';

/** Generation parameters. */
export interface Parameters {
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP: number;
  readonly compare: boolean;
  readonly conversation: boolean;
}

export const parameterDefaults: Parameters = {
  maxTokens: 256,
  temperature: 0.7,
  topP: 0.9,
  compare: false,
  conversation: false,
};

/** The parameters' form fields. @param canConverse whether the model supports multi-turn conversations. */
export function parameterFields(
  { maxTokens, temperature, topP, compare, conversation }: Parameters,
  canConverse: boolean,
  set: (part: Partial<Parameters>) => void,
): TemplateResult {
  return html`
    ${slider('Temperature', 'temperature', temperature, 0, 2, 0.05, '0 always picks the most likely token.', (v) => set({ temperature: v }))}
    ${slider('Top-p', 'top-p', topP, 0.05, 1, 0.05, 'Samples from the most likely tokens whose probabilities add up to this.', (v) => set({ topP: v }))}
    <div class="field">
      <label for="max-tokens">Max new tokens</label>
      <input
        id="max-tokens"
        type="number"
        min="1"
        max="1048576"
        aria-describedby="max-tokens-hint"
        .value=${String(maxTokens)}
        @change=${(event: Event) => {
          const value = Math.round(Number((event.target as HTMLInputElement).value));
          set({ maxTokens: Math.min(1_048_576, Math.max(1, value || parameterDefaults.maxTokens)) });
        }}
      />
      <p class="hint" id="max-tokens-hint">Up to the model’s context length.</p>
    </div>
    ${check('Compare with the base model', compare, (on) => set({ compare: on }))}
    ${canConverse ? check('Multi-turn conversation', conversation, (on) => set({ conversation: on })) : nothing}
  `;
}

function slider(
  name: string,
  id: string,
  value: number,
  min: number,
  max: number,
  step: number,
  hint: string,
  set: (value: number) => void,
): TemplateResult {
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

function check(name: string, on: boolean, set: (on: boolean) => void): TemplateResult {
  return html`<label class="check">
    <input
      type="checkbox"
      .checked=${on}
      @change=${(event: Event) => set((event.target as HTMLInputElement).checked)}
    />
    ${name}
  </label>`;
}
