import { html, nothing, type TemplateResult } from 'lit';
import type { Ask } from '../../api/generate.ts';
import { keyedRow } from '../../elements/child.ts';
import { checkField } from '../../elements/fields.ts';
import type { Asking } from '../../state/playground/said.ts';
import { readTools } from '../../state/playground/tools.ts';
import type { Parameters } from './playground-parameters.ts';

type ToolParameters = Pick<Parameters, 'tools' | 'filledTools' | 'toolChoice' | 'parallelCalls'>;

/** Those of `tool_choice` that are no function; a function is chosen as `function:NAME`. */
const choices = {
  auto: 'the model chooses',
  none: 'no call',
  required: 'at least one call',
} as const;

/** The choice of a tool, as far as there are such tools. */
function chosen({ tools, toolChoice }: ToolParameters): NonNullable<Ask['tool_choice']> {
  if (toolChoice === 'none' || toolChoice === 'required') return toolChoice;
  const name = toolChoice.startsWith('function:') ? toolChoice.slice('function:'.length) : null;
  const isThere = readTools(tools).tools.some((tool) => tool.function.name === name);
  return name !== null && isThere ? { type: 'function', function: { name } } : 'auto';
}

/** Whether answers to prompts must be calls. */
export const isForced = (parameters: ToolParameters): boolean =>
  !['auto', 'none'].includes(chosen(parameters) as string) && readTools(parameters.tools).tools.length > 0;

/** The tools as fields of a request. After results the model chooses: a forced call would follow every call. */
export function toolsOf(
  parameters: ToolParameters,
  { results }: Asking,
): Pick<Ask, 'tools' | 'tool_choice' | 'parallel_tool_calls'> {
  const { tools } = readTools(parameters.tools);
  const choice = isForced(parameters) && results.length > 0 ? 'auto' : chosen(parameters);
  const parallel_tool_calls = parameters.parallelCalls ? undefined : false;
  return tools.length === 0 ? {} : { tools, tool_choice: choice, parallel_tool_calls };
}

/** The fields of tools. @param refusal why they are not sent; `null` if they are. */
export function toolFields(
  parameters: ToolParameters,
  refusal: string | null,
  set: (part: Partial<Parameters>) => void,
): TemplateResult {
  const { tools: text, filledTools } = parameters;
  const { tools, fault: wrong } = readTools(text);
  const fault = refusal === null ? wrong : null;
  const isFilled = text !== '' && text === filledTools;
  return html`<div class="field">
      <label for="tools">Tools</label>
      <textarea
        id="tools"
        rows="3"
        spellcheck="false"
        placeholder='[{"type": "function", "function": {"name": …}}]'
        ?disabled=${refusal !== null}
        aria-describedby=${fault === null ? 'tools-hint' : 'tools-hint tools-fault'}
        aria-invalid=${fault === null ? nothing : 'true'}
        .value=${text}
        @input=${(event: Event) => set({ tools: (event.target as HTMLTextAreaElement).value })}
      ></textarea>
      <p class="hint" id="tools-hint">
        ${refusal ?? (isFilled ? 'Those of the rows that the model was trained on.' : 'Functions that the model may call, a JSON list; kept with the chat.')}
      </p>
      ${fault === null ? nothing : html`<p class="fault" id="tools-fault">${fault} Nothing is sent until it is mended.</p>`}
    </div>
    ${refusal !== null || tools.length === 0 ? nothing : choiceField(parameters, set)}`;
}

function choiceField(parameters: ToolParameters, set: (part: Partial<Parameters>) => void): TemplateResult {
  const choice = chosen(parameters);
  const value = typeof choice === 'string' ? choice : `function:${choice.function.name}`;
  const names = readTools(parameters.tools).tools.map((tool) => tool.function.name);
  const options = [
    ...Object.entries(choices).map(([name, words]) => ({ name, words: `${name}: ${words}` })),
    ...names.map((name) => ({ name: `function:${name}`, words: name })),
  ];
  return html`<div class="field">
    <label for="tool-choice">Tool choice</label>
    <select
      id="tool-choice"
      .value=${value}
      @change=${(event: Event) => set({ toolChoice: (event.target as HTMLSelectElement).value })}
    >
      ${keyedRow(
        options,
        ({ name }) => name,
        ({ name, words }) => html`<option value=${name} ?selected=${name === value}>${words}</option>`,
      )}
    </select>
    ${isForced(parameters) ? html`<p class="hint">After the result of a call, the model chooses.</p>` : nothing}
  </div>
  ${checkField('Several calls in one answer', parameters.parallelCalls, (on) => set({ parallelCalls: on }))}`;
}
