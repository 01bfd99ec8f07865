import { html, nothing, type TemplateResult } from 'lit';
import type { Ask, Message } from '../../api/generate.ts';
import { checkField, rangeField } from '../../elements/fields.ts';
import { writtenTools } from '../../state/playground/tools.ts';

/** Generation parameters, as they are written. */
export interface Parameters {
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP: number;
  /** A whole number, or empty for another answer each time. */
  readonly seed: string;
  /** One text in each line. */
  readonly stop: string;
  /** A JSON schema that answers keep to; empty for any text. */
  readonly schema: string;
  readonly system: string;
  /** The model for which the system prompt was filled in or written. */
  readonly systemFor: string;
  /** The system prompt as it was filled in, from the rows that the model was trained on. */
  readonly filledSystem: string;
  /** A JSON list of the functions that answers may call. */
  readonly tools: string;
  /** The model for which the tools were filled in or written, or came with a chat. */
  readonly toolsFor: string;
  /** The tools as they were filled in, from those rows. */
  readonly filledTools: string;
  /** `auto`, `none`, `required`, or a function as `function:NAME`. */
  readonly toolChoice: string;
  /** Whether an answer may have several calls. */
  readonly parallelCalls: boolean;
  /** Whether the messages before a prompt are sent with it. */
  readonly memory: boolean;
}

/** As the answers of a run are made that its verdict shows (`generate_answers` in trainer/training/generate.py). */
const judgedAt = { temperature: 0 } as const;

export const parameterDefaults: Parameters = {
  maxTokens: 256,
  ...judgedAt,
  topP: 0.9,
  seed: '',
  stop: '',
  schema: '',
  system: '',
  systemFor: '',
  filledSystem: '',
  tools: '',
  toolsFor: '',
  filledTools: '',
  toolChoice: 'auto',
  parallelCalls: true,
  memory: true,
};

/** The most stop texts of a request. */
const mostStops = 16;
const highest = 1_048_576;

/** Twice as many new tokens, as far as there may be so many. */
export const raisedLimit = ({ maxTokens }: Parameters): number => Math.min(highest, 2 * maxTokens);

/** A JSON schema as it is written; `null` if it is none, `undefined` if there is none. */
export function readSchema(text: string): Record<string, unknown> | null | undefined {
  if (text.trim() === '') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

const formatOf = (schema: Record<string, unknown>) => ({
  type: 'json_schema' as const,
  json_schema: { name: 'answer', strict: true, schema },
});

/** The parameters as fields of a request. */
export function samplingFields({ maxTokens, temperature, topP, seed, stop, schema }: Parameters) {
  const format = readSchema(schema);
  const stops = stop
    .split('\n')
    .filter((text) => text !== '')
    .slice(0, mostStops)
    .map((text) => text.replaceAll('\\n', '\n'));
  return {
    max_tokens: maxTokens,
    temperature,
    top_p: topP,
    seed: seed === '' ? undefined : Number(seed),
    stop: stops.length === 0 ? undefined : stops,
    response_format: format == null ? undefined : formatOf(format),
  } satisfies Partial<Ask>;
}

/**
 * What a model is asked with first, as far as nothing was written for it: the system prompt and tools of its rows, or those
 * that were written for another model.
 */
export function filledFor(
  { system, systemFor, filledSystem, tools, toolsFor, filledTools }: Parameters,
  modelId: string,
  ofRows: { readonly systemPrompt: string | null; readonly tools: readonly object[] },
): Partial<Parameters> {
  const prompt = ofRows.systemPrompt ?? '';
  const list = writtenTools(ofRows.tools);
  const kept = (text: string, filled: string) => (text === filled ? '' : text);
  return {
    ...(systemFor !== modelId && {
      system: prompt || kept(system, filledSystem),
      systemFor: modelId,
      filledSystem: prompt,
    }),
    ...(toolsFor !== modelId && {
      tools: list || kept(tools, filledTools),
      toolsFor: modelId,
      filledTools: list,
    }),
  };
}

/** The system prompt as the first message, if there is one. */
export const systemMessage = ({ system }: Parameters): Message[] =>
  system.trim() === '' ? [] : [{ role: 'system', content: system }];

type Set = (part: Partial<Parameters>) => void;

/**
 * The parameters' form fields.
 * @param conversation what a conversation is asked with; `null` if the model supports none.
 * @param hasVerdict whether its answers can be compared with those of a verdict.
 */
export function parameterFields(
  parameters: Parameters,
  conversation: TemplateResult | null,
  hasVerdict: boolean,
  set: Set,
): TemplateResult {
  const { maxTokens, temperature, topP, seed, stop, schema } = parameters;
  return html`
    ${conversation ?? nothing}
    ${hasVerdict ? judgedNote(parameters, set) : nothing}
    ${rangeField({ name: 'Temperature', id: 'temperature', value: temperature, min: 0, max: 2, step: 0.05, hint: '0 always picks the most likely token.' }, (v) => set({ temperature: v }))}
    ${rangeField({ name: 'Top-p', id: 'top-p', value: topP, min: 0.05, max: 1, step: 0.05, hint: 'Samples from the most likely tokens whose probabilities add up to this.' }, (v) => set({ topP: v }))}
    <div class="field">
      <label for="max-tokens">Max new tokens</label>
      <input
        id="max-tokens"
        type="number"
        min="1"
        max=${highest}
        aria-describedby="max-tokens-hint"
        .value=${String(maxTokens)}
        @change=${(event: Event) => {
          const value = Math.round(Number((event.target as HTMLInputElement).value));
          set({ maxTokens: Math.min(highest, Math.max(1, value || parameterDefaults.maxTokens)) });
        }}
      />
      <p class="hint" id="max-tokens-hint">Up to the model’s context length.</p>
    </div>
    <div class="field">
      <label for="seed">Seed</label>
      <input
        id="seed"
        type="number"
        step="1"
        min="0"
        placeholder="random"
        aria-describedby="seed-hint"
        .value=${seed}
        @change=${(event: Event) => {
          const { value } = event.target as HTMLInputElement;
          set({ seed: value === '' ? '' : String(Math.max(0, Math.trunc(Number(value)))) });
        }}
      />
      <p class="hint" id="seed-hint">With the same seed, the same prompt has the same answer.</p>
    </div>
    <div class="field">
      <label for="stop">Stop strings</label>
      <textarea
        id="stop"
        rows="2"
        aria-describedby="stop-hint"
        .value=${stop}
        @input=${(event: Event) => set({ stop: (event.target as HTMLTextAreaElement).value })}
      ></textarea>
      <p class="hint" id="stop-hint">One per line; \\n for a newline. Generation stops at the first match.</p>
    </div>
    ${schemaField(schema, set)}
  `;
}

/** Whether answers are made as those that a run is judged by. */
function judgedNote({ temperature }: Parameters, set: Set): TemplateResult {
  return temperature === judgedAt.temperature
    ? html`<p class="hint">Answers are made as those of the verdict: at temperature 0.</p>`
    : html`<div class="row between wrap-row">
        <p class="hint">The answers of the verdict were made at temperature 0.</p>
        <button
          type="button"
          class="tool"
          @click=${() => set({ ...judgedAt, topP: parameterDefaults.topP })}
        >
          Reset sampling
        </button>
      </div>`;
}

function schemaField(schema: string, set: Set): TemplateResult {
  const isWrong = readSchema(schema) === null;
  return html`<div class="field">
    <label for="schema">JSON schema</label>
    <textarea
      id="schema"
      rows="3"
      spellcheck="false"
      placeholder='{"type": "object", …}'
      aria-describedby=${isWrong ? 'schema-hint schema-fault' : 'schema-hint'}
      aria-invalid=${isWrong ? 'true' : nothing}
      .value=${schema}
      @input=${(event: Event) => set({ schema: (event.target as HTMLTextAreaElement).value })}
    ></textarea>
    <p class="hint" id="schema-hint">Answers keep to it. Empty for any text.</p>
    ${isWrong ? html`<p class="fault" id="schema-fault">This is no JSON object; nothing is sent until it is.</p>` : nothing}
  </div>`;
}

/** The fields of a conversation. */
export function conversationFields({ system, filledSystem, memory }: Parameters, set: Set): TemplateResult {
  return html`<div class="field">
      <label for="system">System prompt</label>
      <textarea
        id="system"
        rows="3"
        .value=${system}
        @input=${(event: Event) => set({ system: (event.target as HTMLTextAreaElement).value })}
      ></textarea>
      ${system !== '' && system === filledSystem ? html`<p class="hint">That of the rows that the model was trained on.</p>` : nothing}
    </div>
    ${checkField('Keep chat history', memory, (on) => set({ memory: on }))}`;
}
