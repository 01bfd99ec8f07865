import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withParts } from '../../src/domain/playground/answer-parts.ts';
import { createToolSplit } from '../../src/domain/playground/calls/tool-split.ts';
import type { ToolUse } from '../../src/inference/protocol/generation.ts';
import { type ToolStyle, toolStyleOf } from '../../src/inference/template/tool-styles.ts';

const use: ToolUse = {
  tools: [
    {
      type: 'function',
      function: {
        name: 'find',
        parameters: {
          type: 'object',
          properties: { q: { type: 'string' }, n: { type: 'integer' }, deep: { type: 'object' } },
        },
      },
    },
    { type: 'function', function: { name: 'stop.all' } },
  ],
  ...{ choice: 'auto', parallel: true, strict: [] },
};
const channels = {
  ...{ switch: null, open: '<|channel|>analysis<|message|>', close: '<|end|>' },
  ...{ final: '<|channel|>final<|message|>', opens: false, opens_on: false },
};
const tags = { switch: null, open: '<think>', close: '</think>', opens: false, opens_on: false };

/** The parts of an answer that is heard in two pieces, split at every place. */
async function read(
  template: string,
  text: string,
  thinking: typeof channels | typeof tags | null,
  more = {},
) {
  const form = { thinking, toolStyle: toolStyleOf(template) };
  const seen = new Set<string>();
  const cuts = [0, ...Array.from(text, (_, at) => at + 1)];
  for (const cut of [...cuts, null]) {
    let streamed = '';
    const deltas: string[] = [];
    const pieces = cut === null ? [...text] : [text.slice(0, cut), text.slice(cut)];
    const answer = await withParts(
      form,
      undefined,
      null,
      { ...use, ...more },
      (content, _tokens, _reasoning, calls) => {
        streamed += content;
        for (const call of calls) {
          const before = deltas[call.index];
          assert.is('name' in call, before === undefined, 'the name comes first');
          deltas[call.index] = (before ?? '') + call.arguments;
        }
      },
      async (onText) => {
        for (const piece of pieces) onText?.(piece, []);
        const counts = { promptTokens: 1, cachedTokens: 0, generatedTokens: 1, timeToFirstTokenMs: 1 };
        return { text, ...counts, finishReason: 'stop', durationMs: 1 };
      },
    );
    assert.is(streamed, answer.text);
    assert.equal(
      deltas,
      answer.calls.map((call) => call.arguments),
    );
    const calls = answer.calls.map(({ id, name, arguments: given }) => {
      assert.match(id, /^call_[0-9a-f]{24}$/);
      return [name, given];
    });
    seen.add(JSON.stringify([answer.text, ...calls]));
  }
  assert.is(seen.size, 1, [...seen].join('\n'));
  return JSON.parse([...seen][0] as string);
}

const hermes = '<tool_call>{"name": <function-name>, "arguments": <args-json-object>}</tool_call>';
const llama = '<|start_header_id|>ipython {"name": function name, "parameters": dictionary}';
const mistral = "{{ '[TOOL_CALLS][' }}";
const gptOss = '{{ "functions." + tool_call.name }}';
const deepseek = "'<｜tool▁sep｜>' + name + '\\n```json'";
const one = '{"q": "a } \\" [b]", "n": [1, {"x": null}]}';

/** A template's text, an answer, and its content and calls. */
const answers: [template: string, answer: string, parts: unknown[]][] = [
  [hermes, `<tool_call>\n{"name": "find", "arguments": ${one}}\n</tool_call>`, ['', ['find', one]]],
  [
    hermes,
    `Let me look.\n\n<tool_call>\n{"arguments": ${one}, "name": "find"}\n</tool_call>\n<tool_call>{"name":"stop.all"}</tool_call> `,
    ['Let me look.', ['find', one], ['stop.all', '{}']],
  ],
  [
    hermes,
    '<tool_call>{"name": "find", "arguments": "{\\"q\\": 1}"}</tool_call>',
    ['', ['find', '{"q": 1}']],
  ],
  [
    hermes,
    `<tool_call>[{"name": "find", "arguments": {}}]`,
    ['<tool_call>[{"name": "find", "arguments": {}}]'],
  ],
  // A tool that was not offered is told, as OpenAI does.
  [hermes, '<tool_call>\n{"name": "gone", "arguments": {}}\n</tool_call>', ['', ['gone', '{}']]],
  [hermes, ' <tool_call> is a tag, <b> too\n', [' <tool_call> is a tag, <b> too\n']],
  [hermes, '<tool_call>{"team": "x"}</tool_call>', ['<tool_call>{"team": "x"}</tool_call>']],
  [hermes, '<tool_call>\n{"name": "find", "arguments": {"q": "cut', ['', ['find', '{"q": "cut']]],
  [hermes, '<tool_call>\n{"name": "fi', ['<tool_call>\n{"name": "fi']],
  [llama, `{"name": "find", "parameters": ${one}}`, ['', ['find', one]]],
  [
    llama,
    '<|python_tag|>{"type": "function", "name": "find", "parameters": {}}; {"name": "stop.all", "parameters": {}}',
    ['', ['find', '{}'], ['stop.all', '{}']],
  ],
  [llama, '{"name": "Ada", "age": 3}', ['{"name": "Ada", "age": 3}']],
  [llama, '{"team": {"name": "find"}} ', ['{"team": {"name": "find"}} ']],
  [
    mistral,
    `[TOOL_CALLS] [{"name": "find", "arguments": ${one}, "id": "abcdefghi"}, {"name": "find", "arguments": {}}]`,
    ['', ['find', one], ['find', '{}']],
  ],
  [
    `${mistral}[ARGS]`,
    `Well.[TOOL_CALLS]find[ARGS]${one}[TOOL_CALLS]stop.all[CALL_ID]abc[ARGS]{}`,
    ['Well.', ['find', one], ['stop.all', '{}']],
  ],
  [
    '<|tool_call>call:',
    '<|tool_call>call:find{q:<|"|>a, "b"}<|"|>,n:-3,deep:{x:[true,<|"|>y<|"|>]}}<tool_call|><|tool_call>call:stop.all{}<tool_call|>',
    ['', ['find', '{"q": "a, \\"b\\"}", "n": -3, "deep": {"x": [true, "y"]}}'], ['stop.all', '{}']],
  ],
  [
    '<start_function_call>call:',
    'Yes. <start_function_call>call:find{q:<escape>a<escape>}<end_function_call>',
    ['Yes.', ['find', '{"q": "a"}']],
  ],
  [
    deepseek,
    `I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find\n\`\`\`json\n${one}\n\`\`\`<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>stop.all\n\`\`\`json\n{}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
    ['I look.', ['find', one], ['stop.all', '{}']],
  ],
  [
    "'<｜tool▁sep｜>'",
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>find<｜tool▁sep｜>${one}<｜tool▁call▁end｜><｜tool▁call▁begin｜>stop.all<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
    ['', ['find', one], ['stop.all', '{}']],
  ],
  [
    '<tool_call>\\n<function=x>',
    '<tool_call>\n<function=find>\n<parameter=q>\n12\nlines\n</parameter>\n<parameter=n>\n12\n</parameter>\n</function>\n</tool_call>',
    ['', ['find', '{"q": "12\\nlines", "n": 12}']],
  ],
  [
    '<tool_call>{name}\n<arg_key>',
    'Yes.\n<tool_call>find\n<arg_key>q</arg_key>\n<arg_value>12 <b></arg_value>\n<arg_key>deep</arg_key>\n<arg_value>{"x": [1]}</arg_value>\n</tool_call>\n<tool_call>stop.all\n</tool_call>',
    ['Yes.', ['find', '{"q": "12 <b>", "deep": {"x": [1]}}'], ['stop.all', '{}']],
  ],
  [
    '<tool_call>{name}<arg_key>',
    '<tool_call>find<arg_key>n</arg_key><arg_value>3</arg_value></tool_call><tool_call>stop.all</tool_call>',
    ['', ['find', '{"n": 3}'], ['stop.all', '{}']],
  ],
  ['<tool_call>{name}<arg_key>', '<tool_call>stop.all', ['', ['stop.all', '{}']]],
  ['[gMASK]<|observation|>', `find\n${one}`, ['', ['find', one]]],
  ['[gMASK]<|observation|>', 'find it\n{"q": 1}', ['find it\n{"q": 1}']],
  ['[gMASK]<|observation|>', '\nfi', ['\nfi']],
  [
    '<|tool_call_start|>',
    `Well.<|tool_call_start|>[find(q="a, 'b') \\"c\\"", n=-3, deep={'x': [True, None, 'it's']}), stop.all()]<|tool_call_end|>I look (now).`,
    [
      'Well.I look (now).',
      ['find', '{"q": "a, \'b\') \\"c\\"", "n": -3, "deep": {"x": [true, null, "it\'s"]}}'],
      ['stop.all', '{}'],
    ],
  ],
  ['<|tool_call_start|>', '<|tool_call_start|>[find(q="cut', ['', ['find', '{"q": "cut"}']]],
  ['<|tool_call_start|>', '<|tool_call_start|>[find', ['<|tool_call_start|>[find']],
  [
    '<|START_ACTION|>',
    `<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "find", "parameters": ${one}},\n    {"tool_call_id": "1", "tool_name": "stop.all", "parameters": {}}\n]<|END_ACTION|>`,
    ['', ['find', one], ['stop.all', '{}']],
  ],
  [
    'Action: "tool_name"',
    `I look.\nAction:\n\`\`\`json\n[\n    {\n        "tool_name": "find",\n        "parameters": ${one}\n    },\n    {\n        "tool_name": "stop.all",\n        "parameters": {}\n    }\n]\`\`\``,
    ['I look.', ['find', one], ['stop.all', '{}']],
  ],
  [
    'Action: "tool_name"',
    'Action: none.\n```json\n{"team": "x"}\n```\n',
    ['Action: none.\n```json\n{"team": "x"}\n```\n'],
  ],
];

test('calls are read as the models of each family write them, wherever the text is cut', async () => {
  for (const [template, answer, parts] of answers)
    assert.equal(await read(template, answer, null), parts, answer);
});

test('calls follow reasoning, and gpt-oss writes them in a channel', async () => {
  const call = `<tool_call>\n{"name": "find", "arguments": ${one}}\n</tool_call>`;
  assert.equal(await read(hermes, `<think>\n<tool_call>?\n</think>\n\n${call}`, tags), ['', ['find', one]]);
  for (const header of [
    '<|channel|>commentary to=functions.find <|constrain|>json<|message|>',
    ' to=functions.find<|channel|>commentary json<|message|>',
  ])
    for (const start of ['', '<|channel|>analysis<|message|>Hm.<|end|>assistant'])
      assert.equal(await read(gptOss, `${start}${header}${one}`, channels), ['', ['find', one]]);
  const said = '<|channel|>commentary<|message|>I look.<|end|>assistant<|channel|>final<|message|>There.';
  assert.equal(await read(gptOss, said, channels), ['I look.\nThere.']);
});

test('without parallel calls the first one counts', async () => {
  const call = `<tool_call>\n{"name": "find", "arguments": {}}\n</tool_call>`;
  assert.equal(await read(hermes, `${call}\n${call}`, null, { parallel: false }), ['', ['find', '{}']]);
});

test('where an answer must be a call, a name is told once no other tool can be meant', async () => {
  const found = { q: 'x' };
  const call = `<tool_call>\n{"name": "find", "arguments": ${JSON.stringify(found)}}\n</tool_call>`;
  const required = { choice: 'required' as const };
  assert.equal(await read(hermes, call, null, required), ['', ['find', JSON.stringify(found)]]);
  assert.equal(await read(hermes, '<tool_call>\n{"name": "fi', null, required), ['', ['find', '']]);
  const gemma = '<|tool_call>call:';
  assert.equal(await read(gemma, `${gemma}fi`, null, required), ['', ['find', '']]);
  const toldAfter = (template: string, text: string, choice: ToolUse['choice']) => {
    const split = createToolSplit(toolStyleOf(template) as ToolStyle, { ...use, choice });
    return [...text].findIndex((letter) => split.push(letter).calls[0]?.name === 'find') + 1;
  };
  assert.is(toldAfter(hermes, call, 'auto'), call.indexOf('find"') + 'find",'.length);
  assert.is(toldAfter(hermes, call, 'required'), call.indexOf('find"') + 1);
  assert.is(toldAfter(hermes, call, { name: 'find' }), call.indexOf('{') + 1);
  assert.is(toldAfter(gemma, `${gemma}find{}`, 'auto'), gemma.length + 5);
  assert.is(toldAfter(gemma, `${gemma}find{}`, 'required'), gemma.length + 1);
});

test('what the trainer gave the syntax of Hermes is known by its mark, whatever its template has', () => {
  const source = readFileSync(new URL('../../trainer/data/beginnings/hermes.py', import.meta.url), 'utf8');
  const mark = /^MARK = "(.*)"$/m.exec(source)?.[1];
  for (const own of ['', '[TOOL_CALLS]', '<arg_key>'])
    assert.is(toolStyleOf(`${mark}${own}`)?.name, 'hermes', own);
});

test.run();
