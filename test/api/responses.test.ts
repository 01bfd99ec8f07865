/**
 * `/v1/responses` with the stock client, and `/v1/messages`, on models of random weights and such as always say the same.
 */
import OpenAI from 'openai';
import type {
  ResponseCreateParamsNonStreaming as Params,
  Response,
} from 'openai/resources/responses/responses';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { searchFolder } from '../hub/canaries.ts';
import { endAll, type Json, startService, type TestService, temporaryFolder, until } from '../service.ts';
import { saying, storeModel } from '../stored-model.ts';
import { readDescription } from './description.ts';

const chatTemplate = `{%- if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '<tool_call>{"name": N, "arguments": A}</tool_call>' }}{%- endif %}{% for message in messages %}[{{ message.role }}]{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}{% endfor %}{% if add_generation_prompt %}#{% endif %}`;

let service: TestService;
let client: OpenAI;
const secret = 'canaryPrompt0123456789';

test.before(async () => {
  const dataDir = temporaryFolder();
  storeModel(dataDir, 'random', undefined, { context: 4096, layers: 1, chatTemplate });
  storeModel(dataDir, 'abc', undefined, { context: 2048, layers: 1, chatTemplate, next: saying('abc') });
  const thought = { isThinking: true, next: saying('a</think>y') };
  storeModel(dataDir, 'thinker', undefined, { context: 512, layers: 1, chatTemplate, ...thought });
  service = await startService({ dataDir });
  client = clientWith('one');
});
test.after(endAll);

const clientWith = (apiKey: string) => new OpenAI({ baseURL: `${service.url}/v1`, apiKey, maxRetries: 0 });
const parameters = {
  type: 'object',
  properties: { place: { enum: ['Oslo', 'Rome'] }, days: { type: 'boolean' } },
  required: ['place', 'days'],
  additionalProperties: false,
};
const weather = { type: 'function' as const, name: 'weather', strict: true, parameters };
const asked = { model: 'abc', input: 'My parcel has not come.', temperature: 0 };
const called = {
  ...{ model: 'random', input: 'What is the weather?', tools: [weather], seed: 1, max_output_tokens: 400 },
  ...{ tool_choice: { type: 'function' as const, name: 'weather' }, parallel_tool_calls: false },
};

/** Asks for a response in events. @returns how often each came, in their order, and the response of the last. */
async function stream(params: object) {
  const types: string[] = [];
  let last: Response | null = null;
  let delta = '';
  for await (const event of await client.responses.create({ ...params, stream: true })) {
    assert.is(event.sequence_number, types.length);
    types.push(event.type);
    if ('delta' in event) delta += event.delta;
    if ('response' in event) last = event.response;
  }
  const once = types
    .filter((type, index) => type !== types[index - 1])
    .map((type) => type.replace('response.', ''));
  return { types: once, response: last as unknown as Response, delta };
}

/** What two answers to one request have in common. */
const alike = ({ output, status, usage }: Response) => [
  output.map((item) => ({ ...item, id: null, call_id: null })),
  status,
  usage?.output_tokens,
];
const texts = ['content_part.added', 'output_text.delta', 'output_text.done', 'content_part.done'];

test('an answer is the same whole and streamed, and ends completed or incomplete', async () => {
  const { check } = await readDescription(service);
  const raw = await service.call('POST', '/v1/responses', asked);
  check('POST', '/v1/responses', raw);
  const whole = await client.responses.create(asked);
  assert.equal([whole.status, whole.output_text, whole.error], ['completed', 'abc', null]);
  assert.is(whole.usage?.total_tokens, (whole.usage?.input_tokens ?? 0) + (whole.usage?.output_tokens ?? 0));
  const streamed = await stream(asked);
  const begin = ['created', 'in_progress', 'output_item.added'];
  assert.equal(streamed.types, [...begin, ...texts, 'output_item.done', 'completed']);
  assert.is(streamed.delta, 'abc');
  assert.equal(alike(streamed.response), alike(whole));

  const cut = {
    ...asked,
    max_output_tokens: 2,
    include: ['message.output_text.logprobs' as const],
    top_logprobs: 1,
  };
  const short = await client.responses.create(cut);
  assert.equal([short.status, short.incomplete_details?.reason], ['incomplete', 'max_output_tokens']);
  const [message] = short.output;
  if (message?.type !== 'message' || message.content[0]?.type !== 'output_text') throw new Error('no text');
  assert.equal(
    message.content[0].logprobs?.map(({ token, top_logprobs: top }) => [token, top.length]),
    [
      ['a', 1],
      ['b', 1],
    ],
  );
  const shortened = await stream(cut);
  assert.is(shortened.types.at(-1), 'incomplete');
  assert.equal(alike(shortened.response), alike(short));

  const spoken = await client.responses
    .stream({ ...asked, input: [{ role: 'user', content: 'Hi' }] })
    .finalResponse();
  assert.is(spoken.output_text, 'abc');
});

test('reasoning is an item of its own', async () => {
  const whole = await client.responses.create({ ...asked, model: 'thinker' });
  assert.equal(
    whole.output.map(({ type }) => type),
    ['reasoning', 'message'],
  );
  assert.equal(whole.output[0], { ...whole.output[0], content: [{ type: 'reasoning_text', text: 'a' }] });
  assert.is(whole.output_text, 'y');
  assert.ok((whole.usage?.output_tokens_details.reasoning_tokens ?? 0) > 0);
  const streamed = await stream({ ...asked, model: 'thinker' });
  const thought = texts.map((type) => type.replace('output_text', 'reasoning_text'));
  assert.equal(streamed.types, [
    ...['created', 'in_progress', 'output_item.added', ...thought, 'output_item.done'],
    ...['output_item.added', ...texts, 'output_item.done', 'completed'],
  ]);
  assert.equal(alike(streamed.response), alike(whole));
  const next = { ...asked, model: 'thinker', previous_response_id: whole.id };
  assert.is((await client.responses.create(next)).output_text, 'y');
});

test('a function is called and its result sent back, by items or by the ID of the response', async () => {
  const whole = await client.responses.create(called);
  const [call, ...others] = whole.output;
  if (call?.type !== 'function_call') throw new Error('no call');
  assert.equal([others, call.name, call.status, whole.status], [[], 'weather', 'completed', 'completed']);
  assert.equal(Object.keys(JSON.parse(call.arguments)), ['place', 'days']);
  const streamed = await stream(called);
  assert.equal(streamed.types.slice(2), [
    ...['output_item.added', 'function_call_arguments.delta', 'function_call_arguments.done'],
    ...['output_item.done', 'completed'],
  ]);
  const [said] = streamed.response.output;
  assert.is(said?.type === 'function_call' && said.arguments, streamed.delta);

  const result = { type: 'function_call_output' as const, call_id: call.call_id, output: '12 degrees' };
  const question = { role: 'user' as const, content: called.input };
  const inputs: Partial<Params>[] = [
    { previous_response_id: whole.id, input: [result] },
    { input: [question, call, result] },
    { input: [question, { type: 'item_reference', id: call.id as string }, result] },
  ];
  const prompts: (number | undefined)[] = [];
  for (const input of inputs)
    prompts.push((await client.responses.create({ ...asked, ...input })).usage?.input_tokens);
  assert.is(new Set(prompts).size, 1, `${prompts}`);
  const open = client.responses.create({ ...asked, previous_response_id: whole.id, input: 'And now?' });
  const { message, param } = await open.then(
    () => assert.unreachable(),
    (thrown) => thrown,
  );
  assert.equal([message, param], [`400 No tool output found for function call ${call.call_id}.`, 'input']);
  const alone = await client.responses.create({ ...asked, input: called.input });
  assert.ok((prompts[0] ?? 0) > (alone.usage?.input_tokens ?? 0) + 50, 'the call is in the prompt');
});

test('an answer is JSON of a schema', async () => {
  const schema = { ...parameters, properties: { ...parameters.properties, place: { enum: ['Bern'] } } };
  const format = { type: 'json_schema' as const, name: 'place', schema };
  const params = { ...asked, model: 'random', max_output_tokens: 300, text: { format } };
  assert.is((await client.responses.parse(params)).output_text.includes('Bern'), true);
  const free = { ...params, text: { format: { type: 'json_object' as const } }, max_output_tokens: 5 };
  assert.match((await client.responses.create(free)).output_text.trim(), /^\{/);
  const forced = await client.responses.create({ ...called, text: { format } });
  assert.is(forced.output[0]?.type, 'function_call');
  const either = await client.responses.create({ ...called, text: { format }, tool_choice: 'auto' });
  const [item] = either.output;
  if (item?.type === 'function_call') assert.is(item.name, 'weather');
  else assert.is(JSON.parse(either.output_text).place, 'Bern');
});

test('a response is stored in memory for who has its key, until it is deleted', async () => {
  const first = await client.responses.create({
    ...asked,
    instructions: `Be kind. ${secret}`,
    metadata: { a: 'b' },
  });
  const second = await client.responses.create({
    ...asked,
    input: 'And now?',
    previous_response_id: first.id,
  });
  assert.equal(await client.responses.retrieve(second.id), second);
  const listed = async (query: object) =>
    (await client.responses.inputItems.list(second.id, query)).data.map((item) =>
      item.type === 'message'
        ? item.content.map((part) => ('text' in part ? part.text : '')).join()
        : item.type,
    );
  assert.equal(await listed({}), ['And now?', 'abc', asked.input]);
  assert.equal(await listed({ order: 'asc', limit: 1 }), [asked.input]);
  const page = await client.responses.inputItems.list(second.id, { limit: 2 });
  assert.is(page.hasNextPage(), true);
  assert.equal(
    (await page.getNextPage()).data.map(({ type }) => type),
    ['message'],
  );
  const check = await readDescription(service).then((one) => one.check);
  for (const path of ['/v1/responses/{response_id}', '/v1/responses/{response_id}/input_items']) {
    const key = { authorization: 'Bearer one' };
    const got = await fetch(service.url + path.replace('{response_id}', second.id), { headers: key });
    check('GET', path, { status: got.status, body: await got.json(), headers: got.headers });
  }

  const other = clientWith('other');
  const missing = async (call: Promise<unknown>, status: number, param: string | null) => {
    const error = await call.then(
      () => null,
      (thrown) => thrown,
    );
    assert.instance(error, OpenAI.APIError);
    assert.equal([error.status, error.param, error.type], [status, param, 'invalid_request_error']);
    return error;
  };
  const { id } = second;
  const reference = { type: 'item_reference' as const, id: second.output[0]?.id as string };
  const goingOn = { ...asked, previous_response_id: id };
  const referring = { ...asked, input: [reference] };
  assert.ok(await client.responses.create(referring));
  const unseen = async (who: OpenAI) => {
    await missing(who.responses.retrieve(id), 404, null);
    await missing(who.responses.inputItems.list(id), 404, null);
    await missing(who.responses.delete(id), 404, null);
    const unknown = await missing(who.responses.create(goingOn), 400, 'previous_response_id');
    assert.is(unknown.code, 'previous_response_not_found');
  };
  await unseen(other);
  await missing(other.responses.create(referring), 404, 'input');
  await missing(client.responses.inputItems.list(id, { after: 'none' }), 400, 'after');
  searchFolder(service.dataDir, [secret]);
  await client.responses.delete(id);
  await unseen(client);
  assert.ok(await client.responses.retrieve(first.id));
  const unstored = await client.responses.create({ ...asked, store: false });
  assert.is(unstored.output_text, 'abc');
  await missing(client.responses.retrieve(unstored.id), 404, null);
});

test('what is not supported is refused by its name', async () => {
  const output = { type: 'function_call_output', call_id: 'gone', output: '' };
  const call = { type: 'function_call', call_id: 'open', name: 'weather', arguments: '{}' };
  const user = (...content: object[]) => ({
    input: [
      { role: 'user', content: 'Hi' },
      { role: 'user', content },
    ],
  });
  const refused: [more: object, param: string][] = [
    ...[
      ...['web_search', 'web_search_preview', 'file_search', 'computer_use_preview', 'code_interpreter'],
      ...['image_generation', 'mcp', 'local_shell', 'shell', 'custom', 'apply_patch'],
    ].map((type): [object, string] => [{ tools: [weather, { type, name: 'x' }] }, 'tools.1.type']),
    [{ tools: [{ ...weather, name: 'a b' }] }, 'tools.0.name'],
    [{ tools: [weather, weather] }, 'tools.1'],
    [{ tools: [{ ...weather, parameters: { $ref: '#/x' } }] }, 'tools.0.parameters.$ref'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ tool_choice: { type: 'web_search_preview' } }, 'tool_choice'],
    [{ tools: [weather], tool_choice: { type: 'function', name: 'other' } }, 'tool_choice'],
    [{ model: 'abc', text: { format: { type: 'xml' } } }, 'text.format.type'],
    [{ input: [] }, 'input'],
    [{ input: 7 }, 'input'],
    [user({ type: 'input_image', image_url: 'data:' }), 'input.1.content.0.type'],
    [user({ type: 'input_text', text: 'x' }, { type: 'input_file', file_id: 'f' }), 'input.1.content.1.type'],
    [{ input: [{ type: 'web_search_call', id: 'ws' }] }, 'input.0.type'],
    [{ input: [{ role: 'tool', content: 'x' }] }, 'input.0.role'],
    [{ input: [{ role: 'user', content: 'x' }, output] }, 'input.1.call_id'],
    [{ input: [{ role: 'user', content: 'x' }, call] }, 'input'],
    [{ background: true }, 'background'],
    [{ truncation: 'auto' }, 'truncation'],
    [{ conversation: 'conv_1' }, 'conversation'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ include: ['all'] }, 'include.0'],
    [{ max_output_tokens: 0 }, 'max_output_tokens'],
    [{ n: 2 }, 'n'],
    [{ messages: [] }, 'messages'],
    [{ input: 'x'.repeat(5000) }, 'input'],
    [{ metadata: { a: 1 } }, 'metadata.a'],
  ];
  for (const [more, param] of refused) {
    for (const isStream of [false, true]) {
      const error = await client.responses
        .create({ ...asked, ...more, stream: isStream } as Params)
        .catch((thrown) => thrown);
      assert.instance(error, OpenAI.BadRequestError, JSON.stringify(more));
      assert.is(error.param, param, error.message);
    }
  }
  const harmless = {
    ...{ service_tier: 'auto', truncation: 'disabled', background: false, user: 'u', prompt_cache_key: 'k' },
    ...{
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low', summary: 'auto' },
      conversation: null,
    },
    ...{
      text: { verbosity: 'low' },
      tools: [],
      max_tool_calls: 1,
      stream_options: null,
      input: user().input.slice(0, 1),
    },
  };
  assert.is((await client.responses.create({ ...asked, ...harmless } as Params)).output_text, 'abc');
  const missing = await client.responses.create({ ...asked, model: 'none' }).catch((thrown) => thrown);
  assert.equal([missing.status, missing.code], [404, 'model_not_found']);
});

/** Asks for a message, whole and in events, whose deltas must come to the same. */
async function message(body: object): Promise<Json> {
  const { check } = await readDescription(service);
  const whole = await service.call('POST', '/v1/messages', body);
  check('POST', '/v1/messages', whole);
  assert.is(whole.status, 200, JSON.stringify(whole.body));
  const answer = await fetch(`${service.url}/v1/messages`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ ...body, stream: true }),
  });
  const events: Json[] = (await answer.text())
    .trimEnd()
    .split('\n\n')
    .map((event) => {
      const [name, data = ''] = event.split('\n');
      const parsed = JSON.parse(data.slice('data: '.length));
      assert.is(name, `event: ${parsed.type}`);
      return parsed;
    });
  const blocks: Json[] = [];
  let json = '';
  for (const { type, index, content_block: block, delta } of events.slice(1, -2)) {
    if (type === 'content_block_start') [blocks[index], json] = [{ ...block }, ''];
    const { partial_json: part = '', type: _type, ...texts } = type === 'content_block_delta' ? delta : {};
    json += part;
    for (const [name, text] of Object.entries(texts)) blocks[index][name] += text;
    if (type === 'content_block_stop' && json !== '') blocks[index].input = JSON.parse(json);
  }
  const [begun, end, last] = [events[0], events.at(-2), events.at(-1)];
  assert.equal(
    [begun?.type, begun?.message.content, end?.type, last],
    [...['message_start', [], 'message_delta'], { type: 'message_stop' }],
  );
  const alike = (content: Json[]) => content.map((block) => ({ ...block, id: null }));
  assert.equal(alike(blocks), alike(whole.body.content));
  assert.equal(end?.delta, { stop_reason: whole.body.stop_reason, stop_sequence: whole.body.stop_sequence });
  assert.is(end?.usage.output_tokens, whole.body.usage.output_tokens);
  return whole.body;
}

test('a message is answered in Anthropic’s shape, whole and streamed', async () => {
  const user = { role: 'user', content: 'Hi' };
  const body = { model: 'abc', max_tokens: 50, temperature: 0, messages: [user] };
  const said = await message({ ...body, system: [{ type: 'text', text: 'Be kind.' }] });
  assert.equal(said.content, [{ type: 'text', text: 'abc' }]);
  assert.equal([said.stop_reason, said.stop_sequence], ['end_turn', null]);
  const { input_tokens: fresh, cache_read_input_tokens: kept } = said.usage;
  const counted = await service.call('POST', '/v1/messages/count_tokens', {
    ...{ model: 'abc', system: 'Be kind.', messages: [user] },
  });
  assert.equal(counted.body, { input_tokens: fresh + kept });
  assert.is((await message({ ...body, max_tokens: 1 })).stop_reason, 'max_tokens');
  const stopped = await message({ ...body, stop_sequences: ['c'] });
  assert.equal(
    [stopped.content[0].text, stopped.stop_reason, stopped.stop_sequence],
    ['ab', 'stop_sequence', 'c'],
  );
  const begun = await message({ ...body, messages: [user, { role: 'assistant', content: 'a' }] });
  assert.is(begun.content[0].text, 'bc', 'an answer that has begun goes on');
  const thought = await message({ ...body, model: 'thinker' });
  assert.equal(
    thought.content.map((block: Json) => block.thinking ?? block.text),
    ['a', 'y'],
  );

  const tool = { name: 'weather', strict: true, input_schema: parameters };
  const choice = { type: 'tool', name: 'weather', disable_parallel_tool_use: true };
  const calling = { ...body, model: 'random', max_tokens: 400, tools: [tool], tool_choice: choice };
  const call = await message(calling);
  assert.equal([call.stop_reason, call.content.length, call.content[0].name], ['tool_use', 1, 'weather']);
  assert.equal(Object.keys(call.content[0].input), ['place', 'days']);
  const result = { type: 'tool_result', tool_use_id: call.content[0].id, content: '12 degrees' };
  const turns = [user, { role: 'assistant', content: call.content }, { role: 'user', content: [result] }];
  assert.is((await message({ ...body, messages: turns })).content[0].text, 'abc');
  const format = { type: 'json_schema', schema: parameters };
  const json = await message({ ...body, model: 'random', max_tokens: 300, output_config: { format } });
  assert.equal(Object.keys(JSON.parse(json.content[0].text)), ['place', 'days']);
  const auto = { type: 'auto', disable_parallel_tool_use: true };
  const [both] = (await message({ ...calling, tool_choice: auto, output_config: { format } })).content;
  const given = both.type === 'tool_use' ? both.input : JSON.parse(both.text);
  assert.equal(Object.keys(given), ['place', 'days']);

  const refused: [more: object, words: string][] = [
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools.0.type'],
    [{ tools: [tool, tool] }, 'tools'],
    [
      { tools: [{ name: 'a', input_schema: { type: 'object', properties: { x: { enum: 'b' } } } }] },
      '/properties/x/enum must be a list',
    ],
    [{ tool_choice: { type: 'any' } }, 'tool_choice'],
    [{ messages: [{ role: 'user', content: [{ type: 'image', source: {} }] }] }, 'messages.0.content.0.type'],
    [{ messages: [{ role: 'user', content: [result] }] }, 'messages.0.content.0.tool_use_id'],
    [{ messages: turns.slice(0, 2) }, 'messages.1: `tool_use` ids were found without `tool_result` blocks'],
    [{ messages: [...turns.slice(0, 2), user] }, `immediately after: ${result.tool_use_id}. Each`],
    [{ messages: [user, { role: 'assistant', content: '{' }], output_config: { format } }, 'output_config'],
    [{ max_tokens: null }, 'max_tokens'],
    [{ container: 'c' }, 'container'],
    [{ messages: [{ role: 'user', content: 'x'.repeat(5000) }] }, 'prompt is too long: '],
  ];
  for (const [more, words] of refused) {
    const { status, body: answer } = await service.call('POST', '/v1/messages', { ...body, ...more });
    assert.equal([status, answer.type, answer.error.type], [400, 'error', 'invalid_request_error'], words);
    assert.match(answer.error.message, words);
  }
  const missing = await service.call('POST', '/v1/messages', { ...body, model: 'none' });
  assert.equal([missing.status, missing.body.error.type], [404, 'not_found_error']);
});

test('an answer ends when its client leaves', async () => {
  const running = async () => (await service.call('GET', '/api/playground/figures')).body.running;
  const endless = {
    model: 'random',
    input: 'Hi',
    max_output_tokens: 4000,
    ignore_eos: true,
    stream: true as const,
  };
  const events = await client.responses.create(endless);
  for await (const { type } of events) if (type === 'response.output_text.delta') break;
  await until(async () => (await running()) === 0, 'no answer runs', 300_000);
});

test.run();
