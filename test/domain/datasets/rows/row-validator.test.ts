import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RowShape } from '../../../../src/contract/rows.ts';
import { createRowValidator, type Validation } from '../../../../src/domain/datasets/rows/row-validator.ts';

function validate(
  content: string | Buffer,
  allowed: readonly RowShape[] | null = null,
  pieceBytes = 7,
): Validation {
  const bytes = Buffer.from(content);
  const validator = createRowValidator(allowed);
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    validator.push(bytes.subarray(start, start + pieceBytes));
  }
  return validator.finish();
}

const row = (index: number) => JSON.stringify({ input: `größe ${index} 😀`, output: `o${index}` });
const rows = (count: number) => Array.from({ length: count }, (_, index) => row(index));
const messages = (validation: Validation) => validation.errors.map(({ message }) => message);

test('ten rows are enough, nine are not', () => {
  assert.equal(validate(rows(10).join('\n')), {
    valid: true,
    shape: 'input-output',
    numExamples: 10,
    errors: [],
    totalErrors: 0,
  });
  assert.match(messages(validate(rows(9).join('\n')))[0] as string, /has 9 examples; at least 10/);
  assert.match(messages(validate(''))[0] as string, /has 0 examples/);
});

test('pieces of any size give the same result', () => {
  const text = [...rows(9), '{"input":"a"}', row(10), ''].join('\r\n');
  const whole = validate(text, null, 1e9);
  for (const size of [1, 2, 3, 64]) assert.equal(validate(text, null, size), whole);
  assert.equal(messages(whole), ['Line 10: missing required field "output"']);
});

test('half a surrogate pair and deep nesting are told, which JSON allows and Python does not', () => {
  const half = '{"input":"a\\ud83d","output":"b"}';
  const pair = '{"input":"a\\ud83d\\ude00","output":"b"}';
  const deep = (levels: number) =>
    `{"input":"a","output":"b","more":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  const text = [
    ...rows(10),
    half,
    pair,
    deep(5_000),
    deep(99),
    deep(100),
    '{"input":"a","output":"\\ude00"}',
  ].join('\n');
  const { valid, numExamples, errors } = validate(text);
  assert.not(valid);
  assert.is(numExamples, 16);
  assert.equal(
    errors.map(({ line, field }) => [line, field]),
    [
      [11, 'input'],
      [13, null],
      [15, null],
      [16, 'output'],
    ],
  );
  assert.match(errors[0]?.message ?? '', /Line 11: field "input" contains half of a surrogate pair/);
  assert.match(errors[1]?.message ?? '', /Line 13: nested more than 100 levels deep/);
});

test('each kind of bad line is told with its number and field', () => {
  const bad: [string | Buffer, RegExp][] = [
    ['{"input":"a"}', /Line 11: missing required field "output"/],
    ['{"input":"a","output":null}', /Line 11: field "output" must be a string, found null/],
    ['{"input":["a"],"output":"b"}', /Line 11: field "input" must be a string, found an array/],
    ['{"input":{},"output":"b"}', /Line 11: field "input" must be a string, found an object/],
    ['[1]', /Line 11: expected a JSON object, found an array/],
    ['null', /Line 11: expected a JSON object, found null/],
    ['{"input":', /Line 11: invalid JSON/],
    [Buffer.from([0x22, 0xff, 0x22]), /Line 11: not valid UTF-8/],
  ];
  for (const [line, expected] of bad) {
    const content = Buffer.concat([
      Buffer.from(`${rows(10).join('\n')}\n`),
      Buffer.from(line),
      Buffer.from('\n'),
    ]);
    const validation = validate(content);
    assert.is(validation.valid, false);
    assert.is(validation.errors[0]?.line, 11);
    assert.match(messages(validation)[0] as string, expected);
  }
});

test('blank lines are no rows, but count as lines', () => {
  const validation = validate([...rows(5), '', ' ', ...rows(4), '{'].join('\n'));
  assert.is(validation.numExamples, 10);
  assert.is(validation.errors[0]?.line, 12);
});

test('the shape is that of the first row, or the expected one', () => {
  const preference = JSON.stringify({ prompt: 'p', chosen: 'c', rejected: 'r' });
  assert.is(validate(Array(10).fill(preference).join('\n')).shape, 'preference');
  const answer = JSON.stringify({ context: 'c', question: 'q', answer: 'a' });
  assert.is(validate(Array(10).fill(answer).join('\n')).shape, 'question-answer');
  const wrong = validate(rows(10).join('\n'), ['question-answer']);
  assert.is(wrong.totalErrors, 30);
  assert.is(wrong.errors[0]?.field, 'context');
});

test('of several allowed shapes the first row decides, and another shape is named', () => {
  const of = (value: unknown) => Array(10).fill(JSON.stringify(value)).join('\n');
  const conversation = { messages: [{ role: 'assistant', content: 'a' }] };
  const allowed = ['input-output', 'messages', 'text'] as const;
  assert.is(validate(of(conversation), allowed).shape, 'messages');
  assert.is(validate(of({ text: 't' }), allowed).shape, 'text');
  assert.is(validate(of({ text: 't' })).shape, 'text');
  const preference = validate(of({ prompt: 'p', chosen: 'c', rejected: 'r' }), allowed);
  assert.is(
    preference.errors[0]?.message,
    'Line 1: missing required field "input" (the row is of another shape: prompt, chosen, rejected)',
  );
  const mixed = validate(`${of(conversation)}\n${row(1)}`);
  assert.equal(messages(mixed), [
    'Line 11: missing required field "messages" (the row is of another shape: input, output)',
  ]);
  const text = validate(`${of({ text: 't' })}\n{"text":1}`);
  assert.equal(messages(text), ['Line 11: field "text" must be a string, found a number']);
});

test('a conversation is a list of messages, and each fault is told with its line and message', () => {
  const user = { role: 'user', content: 'q' };
  const answer = { role: 'assistant', content: 'a' };
  const good = [
    { messages: [user, answer], source: 'kept beside' },
    { messages: [{ role: 'system', content: '' }, user, answer, user, { ...answer, weight: 1 }] },
    { messages: [user, { ...answer, weight: 0 }, user, { ...answer, weight: null, tool_calls: null }] },
    { messages: [answer], tools: [] },
  ];
  const bad: [unknown, string][] = [
    [{ messages: [] }, 'field "messages" has no messages'],
    [{ messages: 'hello' }, 'field "messages" must be a list of messages, found a string'],
    [{ messages: null }, 'field "messages" must be a list of messages, found null'],
    [{ messages: [user] }, 'field "messages" has no message of the assistant to learn'],
    [
      { messages: [user, { ...answer, weight: 0 }] },
      'field "messages" has no message to learn: every message of the assistant has the weight 0',
    ],
    [
      { messages: [user, { ...answer, weight: 0.5 }] },
      'messages[1]: weight must be 0 (not learned) or 1 (learned), found 0.5',
    ],
    [
      { messages: [user, { ...answer, weight: true }] },
      'messages[1]: weight must be 0 (not learned) or 1 (learned), found true',
    ],
    [
      { messages: [{ ...user, weight: 1 }, answer] },
      'messages[0]: weight is only for messages of the assistant; remove it',
    ],
    [
      { messages: [{ ...user, role: 'human' }, answer] },
      'messages[0]: role must be one of system, user, assistant, tool, found "human"',
    ],
    [
      { messages: [{ ...user, role: 'developer' }, answer] },
      'messages[0]: role must be one of system, user, assistant, tool, found "developer"; importing the dataset turns developer into system',
    ],
    [
      { messages: [{ content: 'q' }, answer] },
      'messages[0]: role must be one of system, user, assistant, tool, found null',
    ],
    [
      { messages: [user, 'a'] },
      'messages[1]: a message must be an object with role and content, found a string',
    ],
    [{ messages: [{ role: 'user' }, answer] }, 'messages[0]: missing required field "content"'],
    [
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'q' }] }, answer] },
      'messages[0]: content must be a string, found an array; importing the dataset joins the text of its parts',
    ],
    [{ messages: [user, { ...answer, content: null }] }, 'messages[1]: content must be a string, found null'],
  ];
  const lines = [...good, ...good, ...good, ...bad.map(([value]) => value)].map((value) =>
    JSON.stringify(value),
  );
  const validation = validate(lines.join('\n'));
  assert.is(validation.shape, 'messages');
  assert.equal(
    messages(validation),
    bad.map(([, fault], index) => `Line ${index + 13}: ${fault}`),
  );
  const half = '{"messages":[{"role":"assistant","content":"\\ud83d"}]}';
  assert.match(
    messages(validate(`${lines.slice(0, 12).join('\n')}\n${half}`))[0] as string,
    /half of a surrogate/,
  );
});

test('tools, calls and results are those of OpenAI, and each fault is told with its line and message', () => {
  const user = { role: 'user', content: 'q' };
  const tool = (name: string, parameters?: unknown) => ({ type: 'function', function: { name, parameters } });
  const call = (id: string, args: unknown = '{"city":"Bern"}', name: unknown = 'weather') => ({
    ...{ id, type: 'function', function: { name, arguments: args } },
  });
  const calls = (...tool_calls: unknown[]) => ({ role: 'assistant', content: null, tool_calls });
  const result = (tool_call_id?: string) => ({ role: 'tool', content: 'rain', tool_call_id });
  const tools = [tool('weather', { type: 'object', properties: { city: { type: 'string' } } })];
  const good = [
    { messages: [user, calls(call('a'), call('b')), result('b'), result('a')], tools },
    { messages: [user, { role: 'assistant', tool_calls: [call('a', { city: 'Bern' }), call('b', '')] }] },
    {
      messages: [user, { ...calls(call('a')), content: 'I look.', weight: 0 }, result('a'), calls(call('a'))],
      tools: Array.from({ length: 300 }, (_, at) => tool(`math.tool-${at}`)),
      parallel_tool_calls: false,
    },
  ];
  const bad: [unknown, string][] = [
    [
      { messages: [user, calls({ ...call('a'), id: undefined })] },
      'messages[1]: tool_calls[0]: a call needs an id; importing the dataset adds it',
    ],
    [{ messages: [user, calls(call('a', '{}', ' '))] }, 'messages[1]: tool_calls[0]: function has no name'],
    [
      { messages: [user, calls(call('a', '{}', 'get weather'))] },
      'messages[1]: tool_calls[0]: the name "get weather" must have 1 to 64 letters, digits, dots, underscores and hyphens',
    ],
    [
      { messages: [user, calls(call('a'), call('a'))] },
      'messages[1]: tool_calls[1]: the ID "a" is used twice',
    ],
    [
      { messages: [user, calls(call('a', '[1]'))] },
      'messages[1]: tool_calls[0]: arguments must be JSON text of an object, found that of an array',
    ],
    [
      { messages: [user, calls(call('a', 3))] },
      'messages[1]: tool_calls[0]: arguments must be JSON text of an object, found a number',
    ],
    [
      { messages: [user, calls(call('a', '{"x":"\\ud83d"}'))] },
      'messages[1]: tool_calls[0]: arguments: contains half of a surrogate pair (such as \\ud83d without \\ude00), which is no character; remove it',
    ],
    [
      { messages: [{ ...user, tool_calls: [call('a')] }, calls(call('a'))] },
      'messages[0]: tool_calls is only for messages of the assistant; remove it',
    ],
    [
      { messages: [user, calls(call('a')), result('b')] },
      'messages[2]: tool_call_id "b" is that of no call in the message of the assistant before, or was answered already',
    ],
    [
      { messages: [user, calls(call('a')), result()] },
      'messages[2]: a message of a tool needs the tool_call_id of its call',
    ],
    [
      { messages: [user, { role: 'assistant', content: null, tool_calls: [] }] },
      'messages[1]: content must be a string, found null',
    ],
    [
      { messages: [user, { role: 'assistant', content: null, function_call: { name: 'f' } }] },
      'messages[1]: "function_call" is not read; importing the dataset turns it into tool_calls',
    ],
    [
      { messages: [user, calls(call('a'))], functions: [{ name: 'f' }] },
      '"functions" is not read; importing the dataset turns it into tools',
    ],
    [
      { messages: [user, calls(call('a'))], tools: [tool('f'), tool('f')] },
      'tools[1]: the name "f" is that of tools[0], too',
    ],
    [
      { messages: [user, calls(call('a'))], tools: [tool('f', 'text')] },
      'tools[0]: parameters must be a JSON schema of the type "object", found a string',
    ],
    [
      { messages: [user, calls(call('a'))], tools: [tool('f', { type: 'string' })] },
      'tools[0]: parameters must be a JSON schema of the type "object", found the type "string"',
    ],
    [
      { messages: [user, calls(call('a'))], tools: [{ type: 'function' }] },
      'tools[0]: function must be an object with a name, found null',
    ],
    [
      { messages: [user, calls(call('a'))], tools: 'f' },
      'field "tools" must be a list of tools, found a string',
    ],
    [
      { messages: [user, calls(call('a'))], parallel_tool_calls: 'no' },
      'field "parallel_tool_calls" must be true or false, found a string',
    ],
  ];
  const lines = [...good, ...good, ...good, good[0], ...bad.map(([value]) => value)].map((value) =>
    JSON.stringify(value),
  );
  assert.equal(
    messages(validate(lines.join('\n'))),
    bad.map(([, fault], index) => `Line ${index + 11}: ${fault}`),
  );
  const text = JSON.stringify({ messages: [user, calls(call('a', '{"city":'))] });
  assert.match(
    messages(validate(`${lines.slice(0, 10).join('\n')}\n${text}`))[0] as string,
    /^Line 11: messages\[1\]: tool_calls\[0\]: arguments are not JSON \(/,
  );
});

test('shapes of other tools are named', () => {
  for (const [other, name] of [
    [{ instruction: 'i', input: '', output: 'o' }, 'input-output'],
    [{ instruction: 'i', output: 'o' }, 'Alpaca'],
    [{ conversations: [] }, 'ShareGPT'],
  ] as const) {
    const validation = validate(Array(10).fill(JSON.stringify(other)).join('\n'));
    if (name === 'input-output') assert.is(validation.shape, name);
    else assert.match(messages(validation)[0] as string, name);
  }
});

test('a hundred errors are told, all are counted', () => {
  const validation = validate(Array(250).fill('{').join('\n'));
  assert.is(validation.errors.length, 100);
  assert.is(validation.totalErrors, 250);
});

test('a row without an end is refused without being kept', () => {
  const validator = createRowValidator(null);
  const chunk = Buffer.alloc(2 ** 20, 0x61);
  for (let index = 0; index < 20; index += 1) validator.push(chunk);
  assert.match(messages(validator.finish())[0] as string, /Line 1: longer than/);
});

test('a row that names __proto__ is a row like others', () => {
  const validation = validate(Array(10).fill('{"__proto__":{"input":"a"},"output":"b"}').join('\n'));
  assert.is(validation.valid, false);
});

test('rows of a prompt may be texts or conversations, with any further columns', () => {
  const asked = [{ role: 'user', content: 'a' }];
  const text = (...others: object[]) =>
    [...Array.from({ length: 9 }, (_, at) => ({ prompt: `p${at}`, answer: at })), ...others]
      .map((one) => JSON.stringify(one))
      .join('\n');
  const { valid, shape } = validate(text({ prompt: asked, answer: [1] }));
  assert.equal([valid, shape], [true, 'prompt']);
  assert.equal(
    messages(validate(text({ prompt: 5 }, { answer: 1 }, { prompt: [{ role: 'assistant', content: 'a' }] }))),
    [
      'Line 10: field "prompt" must be a string or a list of messages, found a number',
      'Line 11: missing required field "prompt"',
      'Line 12: field "prompt" must end with a message of the user, found one of the assistant',
    ],
  );
  // Pairs and answers with labels have prompts, too, and the rows of other tools are imported.
  const pairs = Array(10).fill('{"prompt": "p", "chosen": "c", "rejected": "r"}').join('\n');
  assert.equal([validate(pairs).shape, validate(pairs, ['prompt']).shape], ['preference', 'prompt']);
  assert.is(validate(Array(10).fill('{"prompt": "p", "completion": "c"}').join('\n')).shape, null);
  const rated = Array(10).fill('{"prompt": "p", "completion": "c", "label": true}').join('\n');
  assert.equal([validate(rated).shape, validate(rated, ['prompt']).shape], ['unpaired-preference', 'prompt']);
});

test('labels are true or false, and answers texts or a list of a message', () => {
  const said = [{ role: 'assistant', content: 'a' }];
  const asked = [{ role: 'user', content: 'q' }];
  const row = { prompt: 'p', completion: 'c', label: true };
  const mixed = [row, { ...row, label: false }, { prompt: asked, completion: said, label: true }];
  const text = (...rest: readonly unknown[]) =>
    [...mixed, ...mixed, ...mixed, row, ...rest].map((one) => JSON.stringify(one)).join('\n');
  assert.equal(validate(text()).errors, []);
  const wrong = [{ label: 'up' }, { label: 1 }, { label: null }, { completion: asked }, { completion: 7 }];
  const told = messages(validate(text(...wrong.map((change) => ({ ...row, ...change })), { prompt: 'p' })));
  const isNot = 'field "label" must be true or false, found';
  const read = 'an import reads labels such as up and down';
  assert.equal(told, [
    `Line 11: ${isNot} a string; ${read}`,
    `Line 12: ${isNot} a number; ${read}`,
    `Line 13: ${isNot} null; ${read}`,
    'Line 14: field "completion" must have a message of the assistant, found one of the user',
    'Line 15: field "completion" must be a string or a list of messages, found a number',
    'Line 16: missing required field "completion"',
    'Line 16: missing required field "label"',
  ]);
});

test.run();
