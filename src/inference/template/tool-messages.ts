import { createHash } from 'node:crypto';
import type { Message, Tool } from './message.ts';

/** How a template takes calls. */
export interface CallForm {
  readonly arguments: 'object' | 'text';
  /** What stands for the content of an answer that has none. */
  readonly content: '' | null;
  /** Whether it writes several calls of one answer. */
  readonly isParallel: boolean;
}

/** What a template knows of tools. */
export interface ToolForms {
  /** Whether it lists tools. */
  readonly listsTools: boolean;
  /** How it takes calls; `null` if it writes none. */
  readonly calls: CallForm | null;
}

type Render = (messages: readonly object[], tools: readonly Tool[]) => string;

const name = 'probed_tool';
const other = 'other_probed_tool';
const argument = 'probed_argument';
const probe = (called: string): Tool => ({
  type: 'function',
  function: {
    name: called,
    description: 'Looks it up.',
    // Some templates want a description of each argument.
    parameters: {
      type: 'object',
      properties: { [argument]: { type: 'string', description: 'What is looked up.' } },
      required: [argument],
    },
  },
});

/** Finds out by rendering what a template knows of tools. */
export function probeTools(render: Render): ToolForms {
  const question = { role: 'user', content: 'question' };
  const rendered = (messages: readonly object[], tools: readonly Tool[]): string => {
    try {
      return render(messages, tools);
    } catch {
      return '';
    }
  };
  const call = (id: string, called: string) => ({ id, name: called, arguments: `{"${argument}": "value"}` });
  const said = (form: CallForm, calls: readonly ReturnType<typeof call>[]) =>
    rendered(
      withCalls(
        [
          { role: 'assistant', content: '', calls },
          ...calls.map((answers) => ({ role: 'tool', content: 'result', answers })),
        ],
        { ...form, isParallel: true },
        [question],
      ),
      [],
    );
  const writes = (text: string, called: string) =>
    text.includes(called) && text.includes(argument) && !text.includes(`\\"${argument}`);
  const forms = (['object', 'text'] as const).flatMap((given) =>
    (['', null] as const).map((content) => ({ arguments: given, content, isParallel: true })),
  );
  const form = forms.find((one) => writes(said(one, [call('call00001', name)]), name));
  const several = form === undefined ? '' : said(form, [call('call00001', name), call('call00002', other)]);
  return {
    listsTools: rendered([question], [probe(name)]).includes(name),
    calls:
      form === undefined ? null : { ...form, isParallel: writes(several, name) && several.includes(other) },
  };
}

/** Mistral's templates take no other IDs. */
const mistralId = /^[a-zA-Z0-9]{9}$/;
const idOf = (id: string): string =>
  mistralId.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9);

/** Messages as a template gets them. @param before those that are given as they are. */
export function withCalls(
  messages: readonly Message[],
  form: CallForm,
  before: readonly object[] = [],
): readonly object[] {
  const given = form.isParallel ? messages : oneByOne(messages);
  return [...before, ...given.flatMap((message) => shaped(message, form))];
}

function shaped({ role, content, reasoning_content, calls, answers }: Message, form: CallForm): object[] {
  // Templates ask whether it is there.
  const said = { role, content, ...(reasoning_content ? { reasoning_content } : {}) };
  if (answers !== undefined) return [{ ...said, tool_call_id: idOf(answers.id), name: answers.name }];
  if (calls === undefined || calls.length === 0) return [said];
  const tool_calls = calls.map(({ id, name: called, arguments: text }) => ({
    id: idOf(id),
    type: 'function',
    function: { name: called, arguments: form.arguments === 'text' ? text : objectOf(text) },
  }));
  return [{ ...said, content: content === '' ? form.content : content, tool_calls }];
}

/** A model may have written no JSON. */
function objectOf(text: string): unknown {
  try {
    return text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    return text;
  }
}

/** Each call in an answer of its own, with what the tool said behind it. */
function oneByOne(messages: readonly Message[]): Message[] {
  const taken = new Set<Message>();
  return messages.flatMap((message, at) => {
    if (taken.has(message)) return [];
    if (message.calls === undefined || message.calls.length < 2) return [message];
    const next = messages.findIndex((one, index) => index > at && one.answers === undefined);
    const results = messages.slice(at + 1, next < 0 ? messages.length : next);
    return message.calls.flatMap((call, index) => {
      const said = results.filter(({ answers }) => answers?.id === call.id);
      for (const result of said) taken.add(result);
      const whole = index === 0 ? message : { role: message.role, content: '' };
      return [{ ...whole, calls: [call] }, ...said];
    });
  });
}
