import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AppError } from '../../src/errors.ts';
import { readTemplate } from '../../src/inference/template/render.ts';
import { root } from '../folders.ts';

const directory = mkdtempSync(join(tmpdir(), 'hone-template-'));
const path = join(directory, 'template.json');

test.after(() => rmSync(directory, { recursive: true, force: true }));

function store(chatTemplate: string): void {
  const rest = { task: 'text-generation', source: 'model', context_length: 64, version: 1 };
  const tokens = { bos_token: '<s>', eos_token: '</s>', stop: ['</s>'] };
  writeFileSync(path, JSON.stringify({ chat_template: chatTemplate, ...tokens, ...rest }));
}

const talk = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'One?\nTwo!' },
];

test('renders as training did, with the generation prompt', async () => {
  store(
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] | trim }}{{ eos_token }}\n{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}",
  );
  const template = await readTemplate(path);
  assert.is(template.render(talk), '<s><|system|>\nBe brief.</s>\n<|user|>\nOne?\nTwo!</s>\n<|assistant|>\n');
  assert.equal([template.stop, template.contextLength], [['</s>'], 64]);
});

test('blocks are trimmed as in Python, and frozen settings hold', async () => {
  store(
    '{%- set enable_thinking = false -%}{%- macro strftime_now(format) -%}01 Jan 2025{%- endmacro -%}{% if enable_thinking is defined and enable_thinking is false %}\n  quiet {{ strftime_now("%d") }}\n    {% endif %}\n{{ messages[-1].content }}',
  );
  assert.is((await readTemplate(path)).render(talk), '  quiet 01 Jan 2025\nOne?\nTwo!');
});

test('a template that rejects a conversation is reported', async () => {
  store("{% if messages[0]['role'] == 'system' %}{{ raise_exception('No system role.') }}{% endif %}ok");
  const template = await readTemplate(path);
  assert.is(template.render(talk.slice(1)), 'ok');
  try {
    template.render(talk);
    assert.unreachable();
  } catch (error) {
    assert.instance(error, AppError);
    assert.is((error as AppError).kind, 'invalid');
    assert.match((error as AppError).message, /No system role/);
  }
});

test('a missing or damaged template is refused', async () => {
  for (const content of ['', '{}', '{"chat_template": 3}', JSON.stringify({ chat_template: '{% for %}' })]) {
    writeFileSync(path, content);
    const error = await readTemplate(path).catch((thrown: unknown) => thrown);
    assert.instance(error, AppError);
  }
});

/** The folder of the trainer's packages. */
function packages(): string {
  const venv = join(root, 'trainer', '.venv');
  const lib = join(venv, 'lib');
  const unix = existsSync(lib) ? readdirSync(lib).find((name) => name.startsWith('python')) : undefined;
  return unix === undefined ? join(venv, 'Lib', 'site-packages') : join(lib, unix, 'site-packages');
}

const calls = [
  { id: 'call_1', name: 'find', arguments: '{"q": "a"}' },
  { id: 'call_2', name: 'stop', arguments: '{}' },
];
const results = calls.map(({ id, name }, at) => ({
  role: 'tool',
  content: `result ${at}`,
  answers: { id, name },
}));
const called = [{ role: 'user', content: 'Go.' }, { role: 'assistant', content: '', calls }, ...results];
const tools = [{ type: 'function' as const, function: { name: 'find', description: 'Looks it up.' } }];

test('calls and results are as the templates of models write them', async () => {
  const expected: [template: string, style: string, isListed: boolean, texts: string[]][] = [
    [
      'qwen3',
      'hermes',
      true,
      ['<tool_call>\n{"name": "find", "arguments": {"q": "a"}}\n</tool_call>', 'result 1'],
    ],
    // One call for each answer, with its result behind it.
    [
      'llama3_1',
      'llama',
      true,
      [
        '{"name": "find", "parameters": {"q": "a"}}<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n"result 0"',
        '{"name": "stop", "parameters": {}}<|eot_id|>',
      ],
    ],
    [
      'gptoss',
      'gpt-oss',
      true,
      [
        'to=functions.find<|channel|>commentary json<|message|>{"q": "a"}<|call|><|start|>functions.find',
        'functions.stop',
      ],
    ],
    ['gemma4', 'gemma 4', true, ['<|tool_call>call:find{q:<|"|>a<|"|>}<tool_call|>']],
    [
      'glm4moe',
      'glm 4.5',
      true,
      ['<tool_call>find\n<arg_key>q</arg_key>\n<arg_value>a</arg_value>\n</tool_call>', 'result 1'],
    ],
    ['lfm2_2_5', 'lfm2', true, ["<|tool_call_start|>[find(q='a'), stop()]<|tool_call_end|>", 'result 1']],
    ['qwen3_5_think', 'qwen 3.5', true, ['<function=find>\n<parameter=q>\na\n</parameter>']],
    [
      'deepseekv3',
      'deepseek',
      false,
      ['function<｜tool▁sep｜>find\n```json\n{"q": "a"}\n```', '｜>stop\n```json\n{}'],
    ],
  ];
  for (const [name, style, isListed, texts] of expected) {
    const text = readFileSync(join(packages(), 'trl', 'chat_templates', `${name}.jinja`), 'utf8');
    store(`{%- macro strftime_now(format) -%}01 Jan 2025{%- endmacro -%}${text}`);
    const template = await readTemplate(path);
    assert.is(template.toolStyle?.name, style);
    const rendered = template.render(called);
    for (const part of texts) assert.ok(rendered.includes(part), `${part} in ${rendered}`);
    if (isListed) assert.match(template.render(talk, undefined, tools), 'Looks it up.');
    else assert.throws(() => template.render(talk, undefined, tools), /does not list tools/);
  }
  // LFM2's writes no calls. Command R's needs a description of each argument.
  const described = `{% for tool in tools or [] %}{{ tool.function.name }}{% for key, value in tool.function.parameters.properties.items() %}{{ key + value.description }}{% endfor %}{% endfor %}`;
  const lfm2 = readFileSync(join(packages(), 'trl', 'chat_templates', 'lfm2.jinja'), 'utf8');
  for (const [text, style] of [
    [lfm2, 'lfm2'],
    [`${described}<|START_ACTION|>`, 'command r7b'],
  ] as const) {
    store(text);
    const template = await readTemplate(path);
    assert.equal([template.toolStyle?.name, template.toolsFault()], [style, null]);
    assert.throws(() => template.render(called), /no place for calls/);
  }
  store('{% for message in messages %}{{ message.content }}{% endfor %}');
  const bare = await readTemplate(path);
  assert.throws(() => bare.render(called), /no place for calls/);
});

test.run();
