/** Calls of tools by `/v1/chat/completions`, with a model of random weights whose answers a grammar makes calls. */
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, temporaryFolder } from '../service.ts';
import { storeModel } from '../stored-model.ts';

/** As Qwen's: tools in the system message, calls between tags, arguments as an object. */
const qwen = `{%- if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '<tool_call>{"name": N, "arguments": A}</tool_call>' }}{%- endif %}{% for message in messages %}[{{ message.role }}]{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}{% endfor %}`;
const mistral = `{% if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}{% endif %}{% for message in messages %}{% if message.tool_calls %}{{ '[TOOL_CALLS][' }}{% for call in message.tool_calls %}{{ call.function | tojson }}{{ call.id }}{% endfor %}]{% else %}[INST]{{ message.content }}{% endif %}{% endfor %}`;
/** As DeepSeek's, which takes arguments as a text. */
const deepseek = `{% for tool in tools or [] %}{{ tool.function.name }}{% endfor %}{% for message in messages %}{% for call in message.tool_calls or [] %}{{ '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + call.function.name + '<｜tool▁sep｜>' + call.function.arguments + '<｜tool▁call▁end｜><｜tool▁calls▁end｜>' }}{% endfor %}{{ message.content }}{% endfor %}`;
const gemma = `{% for tool in tools or [] %}{{ tool.function.name }}{% endfor %}{% for message in messages %}{% for call in message.tool_calls or [] %}{{ '<start_function_call>call:' + call.function.name + '{' }}{% for key in call.function.arguments %}{{ key }}:<escape>{{ call.function.arguments[key] }}<escape>{% endfor %}}<end_function_call>{% endfor %}{{ message.content }}{% endfor %}`;
/** As those of GLM 4.5, LFM2 and Command R7B, in what they list and in the marks of their calls. */
const [glm, lfm2, command] = ['<tool_call>N\\n<arg_key>', '<|tool_call_start|>', '<|START_ACTION|>'].map(
  (mark) =>
    `{% for tool in tools or [] %}{{ tool.function.name }}{{ '${mark}' }}{% endfor %}{% for message in messages %}{{ message.content }}{% endfor %}`,
);

/** As Llama's, whose calls begin with a bracket alone. */
const llama = `{% for tool in tools or [] %}{{ tool.function.name }}{% endfor %}{% for message in messages %}{% if message.tool_calls %}ipython{"name": "{{ message.tool_calls[0].function.name }}", "parameters": {{ message.tool_calls[0].function.arguments | tojson }}}{% else %}{{ message.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}#{% endif %}`;
/** Tokens are bytes, three further on; the model says a bracket after the end of that prompt. */
const [hash, bracket] = ['#', '{'].map((letter) => letter.charCodeAt(0) + 3);

let service: TestService;
let client: OpenAI;

test.before(async () => {
  const dataDir = temporaryFolder();
  for (const [name, chatTemplate] of Object.entries({ qwen, mistral, deepseek, gemma, glm, lfm2, command }))
    storeModel(dataDir, name, undefined, { context: 4096, layers: 1, chatTemplate: chatTemplate as string });
  const next = (token: number) => (token === hash ? bracket : token === bracket ? hash : token) as number;
  storeModel(dataDir, 'llama', undefined, { context: 1024, layers: 1, chatTemplate: llama, next });
  storeModel(dataDir, 'plain');
  service = await startService({ dataDir });
  client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none', maxRetries: 0 });
});
test.after(endAll);

const parameters = {
  type: 'object',
  properties: { place: { enum: ['Oslo', 'Rome'] }, days: { type: 'boolean' } },
  required: ['place', 'days'],
  additionalProperties: false,
};
const weather = { type: 'function' as const, function: { name: 'weather', strict: true, parameters } };
const clock = { type: 'function' as const, function: { name: 'clock', description: 'The time.' } };
const messages = [{ role: 'user' as const, content: 'What is the weather?' }];
const asked = { messages, tools: [clock, weather], max_tokens: 400, seed: 1, parallel_tool_calls: false };
type More = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;
const named = { type: 'function' as const, function: { name: 'weather' } };

test('an answer that must be a call is one, in the style of each model, whole and streamed', async () => {
  for (const model of ['qwen', 'mistral', 'deepseek', 'command', 'glm', 'gemma', 'lfm2']) {
    // Random weights find white space as likely as its absence: it may differ between two answers.
    const body = { ...asked, model, tool_choice: named, cache: false };
    const [choice] = (await client.chat.completions.create(body)).choices;
    assert.is(choice?.finish_reason, 'tool_calls', model);
    assert.is(choice?.message.content, null);
    const [call, ...others] = choice?.message.tool_calls ?? [];
    if (call?.type !== 'function') throw new Error('no call of a function');
    assert.equal([others, call.function.name], [[], 'weather']);
    const given = JSON.parse(call.function.arguments);
    // Some notations are no JSON, so that arguments come whole; Gemma's has them by the alphabet.
    const isJson = !['glm', 'gemma', 'lfm2'].includes(model);
    assert.equal(Object.keys(given), model === 'gemma' ? ['days', 'place'] : ['place', 'days']);
    assert.ok(['Oslo', 'Rome'].includes(given.place) && typeof given.days === 'boolean');
    let text = '';
    let pieces = 0;
    const ends = new Set<string | null>();
    for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) {
      for (const { index, id, type, function: part } of choices[0]?.delta.tool_calls ?? []) {
        assert.is(index, 0);
        if (pieces === 0) {
          assert.match(id ?? '', /^call_/);
          assert.equal([type, part?.name], ['function', 'weather']);
        } else assert.equal([id, type, part?.name], [undefined, undefined, undefined]);
        text += part?.arguments ?? '';
        pieces += 1;
      }
      ends.add(choices[0]?.finish_reason ?? null);
    }
    assert.equal(JSON.parse(text), given);
    assert.ok(pieces > (isJson ? 3 : 1), `${pieces} pieces`);
    assert.equal([...ends], [null, 'tool_calls']);
  }
});

test('a control token never stands for its text in a call', async () => {
  const mark = { type: 'object', properties: { mark: { enum: ['<s>', '<s><s>'] } }, required: ['mark'] };
  const tools = [{ type: 'function' as const, function: { name: 'mark', parameters: mark } }];
  for (const model of ['qwen', 'gemma', 'lfm2']) {
    const body = { ...asked, model, tools, tool_choice: 'required' as const, logit_bias: { 1: 100 } };
    const [call] = (await client.chat.completions.create(body)).choices[0]?.message.tool_calls ?? [];
    const given = JSON.parse(call?.type === 'function' ? call.function.arguments : '{}');
    assert.ok(mark.properties.mark.enum.includes(given.mark), `${model}: ${given.mark}`);
  }
});

test('a call that the model begins by itself is held to a strict schema', async () => {
  const ask = async (tools: OpenAI.ChatCompletionFunctionTool[]) =>
    (
      await client.chat.completions.create({
        ...asked,
        tools,
        model: 'llama',
        temperature: 0,
        max_tokens: 400,
      })
    ).choices[0];
  const choice = await ask([weather]);
  assert.equal([choice?.finish_reason, choice?.message.content], ['tool_calls', null]);
  const [call] = choice?.message.tool_calls ?? [];
  if (call?.type !== 'function') throw new Error('no call of a function');
  assert.equal(Object.keys(JSON.parse(call.function.arguments)), ['place', 'days']);
  const free = await ask([clock]);
  assert.is(free?.message.tool_calls, undefined);
  assert.match(free?.message.content ?? '', '{#');
});

test('a required call is of any tool; a conversation with calls and results goes on', async () => {
  const body = { ...asked, model: 'qwen', tool_choice: 'required' as const };
  const [choice] = (await client.chat.completions.create({ ...body, tools: [weather], n: 2 })).choices;
  const [call] = choice?.message.tool_calls ?? [];
  assert.is(call?.type === 'function' && call.function.name, 'weather');
  const cut = await client.chat.completions.create({ ...body, max_tokens: 60, tool_choice: named });
  assert.is(cut.choices[0]?.finish_reason, 'length');
  for (const model of ['qwen', 'mistral', 'deepseek']) {
    const said = choice?.message as OpenAI.ChatCompletionMessageParam;
    const result = { role: 'tool' as const, tool_call_id: call?.id ?? '', content: '12 degrees' };
    const next = { model, messages: [...messages, said, result], max_tokens: 1 };
    const [prompt, without] = await Promise.all(
      [{}, { tools: asked.tools }].map((more) => client.chat.completions.create({ ...next, ...more })),
    );
    assert.ok((prompt?.usage?.prompt_tokens ?? 0) > 100, `the call is in the prompt of ${model}`);
    assert.ok((without?.usage?.prompt_tokens ?? 0) > (prompt?.usage?.prompt_tokens ?? 0), 'so are tools');
    if (model !== 'qwen') continue;
    const none = await client.chat.completions.create({ ...next, tools: asked.tools, tool_choice: 'none' });
    assert.is(
      none.usage?.prompt_tokens,
      prompt?.usage?.prompt_tokens,
      'tools that may not be called are not',
    );
  }
  const many = Array.from({ length: 200 }, (_, at) => ({
    ...clock,
    function: { name: `clock.${at}`, description: '' },
  }));
  const long = await client.chat.completions
    .create({ model: 'qwen', messages, tools: many, max_tokens: 1 })
    .catch((thrown) => thrown);
  assert.is(long.code, 'context_length_exceeded', 'the prompt is the bound');
  // Of DeepSeek's template names alone are in the prompt, so that it fits.
  const last = { type: 'function' as const, function: { name: 'clock.199' } };
  const of = await client.chat.completions.create({
    ...asked,
    model: 'deepseek',
    tools: many,
    tool_choice: last,
  });
  const [made] = of.choices[0]?.message.tool_calls ?? [];
  assert.is(made?.type === 'function' && made.function.name, 'clock.199');
});

test('arguments that are cut are streamed so far, and the reason of the end says so', async () => {
  const properties = { note: { type: 'string', minLength: 300 } };
  const note = { type: 'object', properties, required: ['note'] };
  const tools = [{ type: 'function' as const, function: { name: 'note', parameters: note } }];
  for (const model of ['qwen', 'mistral', 'deepseek']) {
    const body = { messages, model, tools, tool_choice: 'required' as const, max_tokens: 100, seed: 1 };
    let given = '';
    const ends = new Set<string | null>();
    for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) {
      given += choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? '';
      ends.add(choices[0]?.finish_reason ?? null);
    }
    assert.match(given, /^\{\s*"note"/, model);
    assert.throws(() => JSON.parse(given), undefined, model);
    assert.equal([...ends], [null, 'length'], model);
    const { choices } = await client.chat.completions.create(body);
    const [call] = choices[0]?.message.tool_calls ?? [];
    assert.match(call?.type === 'function' ? call.function.arguments : '', /^\{\s*"note"/, model);
    assert.is(choices[0]?.finish_reason, 'length', model);
  }
});

test('with a response format, an answer is a call or JSON of its schema', async () => {
  const schema = { type: 'object', properties: { team: { enum: ['sales', 'support'] } }, required: ['team'] };
  const json_schema = { name: 'team', schema };
  const body = { ...asked, response_format: { type: 'json_schema' as const, json_schema }, tools: [weather] };
  const ask = async (model: string, more: More) =>
    (await client.chat.completions.create({ ...body, model, ...more })).choices[0];
  const seen = new Set<string>();
  const check = (choice: OpenAI.ChatCompletion.Choice | undefined, model: string) => {
    if (choice === undefined) throw new Error('no choice');
    const { content, tool_calls: calls = [] } = choice.message;
    const kind = calls.length > 0 ? 'call' : 'answer';
    seen.add(kind);
    assert.is(choice.finish_reason, kind === 'call' ? 'tool_calls' : 'stop', model);
    if (kind === 'answer') assert.equal(Object.keys(JSON.parse(content ?? '')), ['team'], model);
    else assert.is(content, null, model);
    return kind;
  };
  for (const model of ['qwen', 'mistral', 'deepseek', 'llama']) {
    seen.clear();
    for (let seed = 0; seed < 8 || seen.size < 2; seed += 1) {
      assert.ok(seed < 40, `${model} has given ${[...seen]} alone`);
      // The likeliest token of Llama's is a bracket, which both begin with.
      check(await ask(model, { seed, temperature: model === 'llama' ? 2 : 1 }), model);
    }
    assert.is(check(await ask(model, { tool_choice: 'required' }), model), 'call');
    assert.is(check(await ask(model, { tool_choice: 'none' }), model), 'answer');
  }
  const object = await ask('qwen', { response_format: { type: 'json_object' }, logit_bias: { 63: -100 } });
  assert.match(object?.message.content ?? '', /^\{/, 'no call can begin');
});

test('what no grammar holds of a schema is told with the answer and with calls', async () => {
  const twice = { type: 'array', items: { const: 1 }, minItems: 2, maxItems: 2, uniqueItems: true };
  const schema = { type: 'object', properties: { tags: twice }, required: ['tags'] };
  const json_schema = { name: 'tags', schema };
  const request = { model: 'qwen', messages, max_tokens: 400 };
  const body = { ...request, response_format: { type: 'json_schema' as const, json_schema } };
  const told = (choice: object | undefined) => (choice as { schema_errors?: string[] }).schema_errors;
  const duplicate = '/tags must NOT have duplicate items (items ## 0 and 1 are identical)';
  assert.equal(told((await client.chat.completions.create(body)).choices[0]), [duplicate]);
  const streamed: unknown[] = [];
  for await (const { choices } of await client.chat.completions.create({ ...body, stream: true }))
    streamed.push(...choices.map(told));
  assert.equal(streamed.filter(Boolean), [[duplicate]]);
  const tool = { type: 'function' as const, function: { name: 'tag', parameters: schema } };
  const calling = { ...request, tools: [tool], tool_choice: 'required' as const, parallel_tool_calls: false };
  assert.equal(told((await client.chat.completions.create(calling)).choices[0]), [`tag: ${duplicate}`]);
  const format = { type: 'json_schema' as const, name: 'tags', schema };
  const response = await client.responses.create({ model: 'qwen', input: 'Tags?', text: { format } });
  assert.equal(told(response), [duplicate]);
  const output_config = { format: { type: 'json_schema', schema } };
  const message = await service.call('POST', '/v1/messages', { ...request, output_config });
  assert.equal(message.body.schema_errors, [duplicate]);
  const held = { ...body, response_format: { type: 'json_object' as const, schema: { const: 1 } } };
  assert.is(told((await client.chat.completions.create(held)).choices[0]), undefined);
});

test('what is wrong with tools is told by its place', async () => {
  const user = messages[0];
  const call = { id: 'a', type: 'function', function: { name: 'gone', arguments: '{' } };
  const said = { role: 'assistant', content: null, tool_calls: [call] };
  const answer = { role: 'tool', content: 'x', tool_call_id: 'a' };
  const strictly = (schema: object) => ({
    tools: [clock, { ...weather, function: { ...weather.function, parameters: schema } }],
  });
  const refused: [more: object, param: string][] = [
    [{ tools: [clock, { type: 'web_search' }] }, 'tools.1.type'],
    [{ tools: [{ type: 'function', function: { name: 'a b' } }] }, 'tools.0.function.name'],
    [{ tools: [clock, weather, clock] }, 'tools.2'],
    [
      { tools: [{ ...clock, function: { name: 'a', parameters: { type: 'string' } } }] },
      'tools.0.function.parameters',
    ],
    [{ tools: [{ ...clock, function: { name: 'a', parameters: [] } }] }, 'tools.0.function.parameters'],
    [
      {
        tools: [{ ...clock, function: { name: 'a', parameters: { properties: { x: { type: 'strin' } } } } }],
      },
      'tools.0.function.parameters.properties.x.type',
    ],
    [
      strictly({
        ...parameters,
        properties: { ...parameters.properties, place: { type: 'string', pattern: '(?=a)' } },
      }),
      'tools.1.function.parameters.properties.place.pattern',
    ],
    [
      { tools: Array.from({ length: 1025 }, (_, at) => ({ ...clock, function: { name: `a${at}` } })) },
      'tools',
    ],
    [{ tool_choice: 'required', tools: [] }, 'tool_choice'],
    [{ tool_choice: { type: 'function', function: { name: 'other' } } }, 'tool_choice'],
    [{ messages: [user, { role: 'assistant', content: null }] }, 'messages.1.content'],
    [{ messages: [user, said, { role: 'tool', content: 'x' }] }, 'messages.2.tool_call_id'],
    [
      { messages: [user, said, { role: 'tool', content: 'x', tool_call_id: 'b' }] },
      'messages.2.tool_call_id',
    ],
    [{ messages: [answer, said] }, 'messages.0.tool_call_id'],
    [{ messages: [{ ...user, tool_calls: [call] }] }, 'messages.0.tool_calls'],
    [{ messages: [user, said] }, 'messages'],
    [{ messages: [user, said, user, answer] }, 'messages'],
    [{ messages: [user, { ...said, tool_calls: [call, { ...call, id: 'b' }] }, answer, user] }, 'messages'],
    [{ model: 'plain' }, 'tools'],
    [{ model: 'plain', tools: [], messages: [user, said, answer] }, 'messages'],
  ];
  for (const [more, param] of refused) {
    const error = await client.chat.completions
      .create({
        ...asked,
        model: 'qwen',
        max_tokens: 1,
        ...more,
      } as OpenAI.ChatCompletionCreateParamsNonStreaming)
      .then(
        () => null,
        (thrown) => thrown,
      );
    assert.instance(error, OpenAI.BadRequestError, JSON.stringify(more));
    assert.is(error.param, param, error.message);
    const isOfParameters = param.includes('.function.parameters');
    assert.is(error.code === 'invalid_function_parameters', isOfParameters, error.message);
  }
  const unanswered = { ...asked, model: 'qwen', messages: [user, said] };
  const { message } = await client.chat.completions
    .create(unanswered as typeof asked & { model: string })
    .catch((thrown) => thrown);
  assert.match(
    message,
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
  );
  assert.match(message, 'did not have response messages: a');
  const unheld = { properties: { x: { type: 'string', pattern: '(?=a)' } } };
  const harmless: More[] = [
    { tools: [{ ...clock, function: { name: 'a', parameters: unheld } }] },
    { model: 'plain', tools: [] },
    { model: 'plain', tool_choice: 'none' },
    { messages: [user, said, answer] as OpenAI.ChatCompletionMessageParam[] },
  ];
  for (const more of harmless)
    await client.chat.completions.create({
      ...asked,
      model: 'qwen',
      max_tokens: 1,
      ...more,
    } as typeof asked & { model: string });
});

test.run();
