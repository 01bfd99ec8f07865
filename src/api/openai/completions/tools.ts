import * as v from 'valibot';
import { toolName, toolNameRule } from '../../../contract/rows.ts';
import { addSchemaFaults } from '../../../domain/graders/answer-schema.ts';
import { jsonSchemaFaults, type ToolUse } from '../../../domain/playground/playground.ts';
import { or } from '../schemas.ts';

/** More than OpenAI's 128: what a prompt holds is the bound that matters. */
const mostTools = 1024;

export const functionName = v.pipe(v.string(), v.regex(toolName, toolNameRule));
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const parameters = v.pipe(
  v.custom<Record<string, unknown>>(isObject, 'must be an object'),
  v.check(({ type = 'object' }) => type === 'object', 'must be a JSON schema of the type object'),
  v.check(({ properties = {} }) => isObject(properties), 'must have an object of schemas as properties'),
  v.check(
    ({ required = [] }) => Array.isArray(required) && required.every((one) => typeof one === 'string'),
    'must have a list of names as required',
  ),
);
/** What a request says of a function. */
export const functionFields = {
  name: functionName,
  description: or(v.string()),
  parameters: or(parameters),
  strict: or(v.boolean()),
};
type Fields = v.InferOutput<v.ObjectSchema<typeof functionFields, undefined>>;

/** Tells what is wrong with the parameters of a function, and what a grammar cannot express of a strict one's. */
export function checkParameters<F extends Fields>() {
  return v.rawCheck<F>(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { parameters: value, strict } = dataset.value;
    if (value == null) return;
    const input = { ...dataset.value };
    const path = [{ type: 'object' as const, origin: 'value' as const, input, key: 'parameters', value }];
    const faults = jsonSchemaFaults(value).filter(({ isWrong }) => isWrong || strict === true);
    addSchemaFaults(faults, input, addIssue, path);
  });
}

/** Lists of tools have bounds, and tools have names of their own. */
export const listOfTools = <T extends v.GenericSchema>(tool: T, nameOf: (tool: v.InferOutput<T>) => string) =>
  v.pipe(
    v.array(tool),
    v.maxLength(mostTools, `must have at most ${mostTools} tools`),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const seen = new Set<string>();
      for (const [key, value] of dataset.value.entries()) {
        const called = nameOf(value);
        if (seen.has(called))
          addIssue({
            message: `is another tool named ${called}`,
            path: [{ type: 'array', origin: 'value', input: dataset.value, key, value }],
          });
        seen.add(called);
      }
    }),
  );

/** The tools that an answer may call. */
export const tools = listOfTools(
  v.strictObject({
    type: v.literal('function', 'must be function: other tools are not supported'),
    function: v.pipe(v.strictObject(functionFields), checkParameters()),
  }),
  (tool) => tool.function.name,
);

export const toolChoice = v.union(
  [
    v.picklist(['none', 'auto', 'required']),
    v.strictObject({ type: v.literal('function'), function: v.strictObject({ name: functionName }) }),
  ],
  'must be none, auto, required or {"type": "function", "function": {"name": …}}',
);

/** The calls of an earlier answer. Their tools may be gone. */
export const toolCalls = v.array(
  v.strictObject({
    id: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
    type: v.literal('function', 'must be function'),
    function: v.strictObject({ name: functionName, arguments: v.string() }),
    /** Of streamed answers. */
    index: or(v.number()),
  }),
);

/** What a request says of tools. */
export interface Asked {
  readonly tools?: v.InferOutput<typeof tools> | null | undefined;
  readonly tool_choice?: v.InferOutput<typeof toolChoice> | null | undefined;
  readonly parallel_tool_calls?: boolean | null | undefined;
}

/** Whether the tool that a request asks for is there. */
export function hasChosen({ tools: given, tool_choice: choice }: Asked): boolean {
  if (choice == null || choice === 'none' || choice === 'auto') return true;
  const names = (given ?? []).map((one) => one.function.name);
  return choice === 'required' ? names.length > 0 : names.includes(choice.function.name);
}

/** What an answer may call; `undefined` if nothing. */
export function toolUseOf({
  tools: given,
  tool_choice: choice,
  parallel_tool_calls: parallel,
}: Asked): ToolUse | undefined {
  if (given == null || given.length === 0 || choice === 'none') return undefined;
  return {
    tools: given.map(({ type, function: { name: called, description, parameters: schema } }) => ({
      type,
      function: {
        name: called,
        ...(description == null ? {} : { description }),
        ...(schema == null ? {} : { parameters: schema }),
      },
    })),
    choice: choice == null ? 'auto' : typeof choice === 'string' ? choice : { name: choice.function.name },
    parallel: parallel ?? true,
    strict: given.filter((one) => one.function.strict).map((one) => one.function.name),
  };
}
