/** Tools in the playground: they are called, their results are sent, and all is kept with the chat. */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  type TestService,
  temporaryFolder,
  tinyModel,
  until,
  untilEnded,
} from '../service.ts';
import { type StoredModel, storeModel } from '../stored-model.ts';
import { answered, rolesOf } from './answered.ts';
import { appearanceFaults } from './appearance.ts';
import { axeViolations, closeBrowser, keepPicture, openPage, sees } from './browser.ts';

/** As Llama's, which makes one call in an answer. */
const llama = `{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}{% for message in messages %}{% if message.tool_calls %}ipython{"name": "{{ message.tool_calls[0].function.name }}", "parameters": {{ message.tool_calls[0].function.arguments | tojson }}}{% else %}[{{ message.role }}]{{ message.content }}{% endif %}{% endfor %}`;
/** As Qwen's, to train with. */
const hermes = `{% if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}<tool_call>{"name": N, "arguments": A}</tool_call>{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;
const parameters = {
  type: 'object',
  properties: { place: { enum: ['Oslo', 'Rome'] }, days: { type: 'boolean' } },
  required: ['place', 'days'],
  additionalProperties: false,
};
const weather = { type: 'function', function: { name: 'weather', strict: true, parameters } };
const clock = { type: 'function', function: { name: 'clock' } };

let service: TestService;
let model: StoredModel;
let plain: StoredModel;
test.before(async () => {
  const dataDir = temporaryFolder();
  const shape = { context: 4096, layers: 1, chatTemplate: llama, isOwn: true };
  model = storeModel(dataDir, 'caller', undefined, shape);
  plain = storeModel(dataDir, 'plain', undefined, { isOwn: true });
  service = await startService({ dataDir, warm: true });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

function requestsOf(page: Page): Json[] {
  const bodies: Json[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/v1/chat/completions')) bodies.push(request.postDataJSON());
  });
  return bodies;
}

test('a call is shown, its result is sent, edited and asked again, and all is there after a reload', async () => {
  const { page, context, faults } = await openPage(service.url, `/playground/${model.modelId}`);
  const requests = requestsOf(page);
  const prompt = page.getByLabel('Prompt', { exact: true });
  const tools = page.getByLabel('Tools', { exact: true });
  const choice = page.getByLabel('Tool choice');
  await page.getByLabel('Max new tokens').fill('200');
  await tools.fill('[\n{"type": "function",\n]');
  await sees(page, 'Line 3: no JSON from “]” on.');
  assert.equal(await axeViolations(page), []);
  await prompt.fill('Is it cold?');
  await prompt.press('Enter');
  await tools.fill(JSON.stringify([clock, weather]));
  await choice.selectOption('function:weather');
  assert.equal(requests, [], 'nothing was sent before');
  await prompt.press('Enter');
  await answered(page, 1);
  const call = page.locator('.call');
  assert.match((await call.textContent()) ?? '', /Call\s+weather/);
  assert.ok((await call.locator('.json-name').allTextContents()).includes('"place":'));
  await call.getByRole('button', { name: 'Raw' }).click();
  const given = JSON.parse((await call.locator('.answer-text').textContent()) ?? '');
  assert.equal(Object.keys(given), ['place', 'days']);
  assert.equal(requests[0].tools, [clock, weather]);
  assert.equal(requests[0].tool_choice, { type: 'function', function: { name: 'weather' } });

  const send = page.getByRole('button', { name: 'Send result' });
  assert.ok(await send.isDisabled(), 'a result is wanted');
  await page.getByLabel('Empty result').check();
  assert.ok(await send.isEnabled());
  await page.getByLabel('Empty result').uncheck();
  await keepPicture(page, 'tool-call');
  assert.equal(await axeViolations(page), []);
  await page.getByLabel('Result of weather').fill('12 degrees');
  await page.getByLabel('Result of weather').press('Enter');
  await answered(page, 2);
  assert.is(rolesOf(requests[1]), 'user assistant tool');
  const [, said, result] = requests[1].messages;
  assert.equal([said.tool_calls[0].id, result.content], [result.tool_call_id, '12 degrees']);
  assert.equal(JSON.parse(said.tool_calls[0].function.arguments), given);
  assert.equal([requests[1].tool_choice, requests[1].tools.length], ['auto', 2]);
  await page.getByRole('button', { name: 'View code' }).click();
  for (const language of ['curl', 'Python', 'JavaScript'])
    assert.match(
      (await page
        .getByRole('region', { name: `Request in ${language}`, includeHidden: true })
        .textContent()) ?? '',
      /tool_call_id[\s\S]*12 degrees[\s\S]*weather/,
    );
  await page.keyboard.press('Escape');

  await page.reload();
  await answered(page, 2);
  assert.match((await page.locator('.asked').last().textContent()) ?? '', /Result of weather\s*12 degrees/);
  assert.equal(JSON.parse(await tools.inputValue()), [clock, weather]);
  const last = page.locator('.exchange').last();
  await last.getByRole('button', { name: 'Edit', exact: true }).click();
  const edited = page.locator('#edited');
  await until(async () => (await edited.inputValue()) === '12 degrees', 'the result is there to edit');
  await edited.fill('minus 4');
  await page.getByRole('button', { name: 'Send again' }).click();
  await last.getByText('2/2').waitFor();
  await answered(page, 2);
  assert.is(requests[2].messages[2].content, 'minus 4');
  await page.getByRole('button', { name: 'Regenerate' }).last().click();
  await last.getByText('3/3').waitFor();
  await answered(page, 2);
  assert.is(rolesOf(requests[3]), 'user assistant tool');
  await last.getByRole('button', { name: 'Previous version' }).click();
  await last.getByRole('button', { name: 'Previous version' }).click();
  await sees(page, '12 degrees');
  // Another call, and a prompt in place of its result.
  await prompt.fill('And in Rome?');
  await prompt.press('Enter');
  await answered(page, 3);
  assert.is(rolesOf(requests[4]), 'user assistant tool assistant user');
  await choice.selectOption('none');
  await prompt.fill('Thanks.');
  await prompt.press('Enter');
  await answered(page, 4);
  assert.is(rolesOf(requests[5]), 'user assistant tool assistant user', 'no call without a result');
  await prompt.fill('');

  const [{ id }] = (await service.call('GET', '/api/playground/chats')).body.chats;
  const stored = (await service.call('GET', `/api/playground/chats/${id}`)).body;
  assert.equal(stored.tools, [clock, weather]);
  const saved = page.waitForEvent('download');
  await page.getByText('More', { exact: true }).click();
  await page.getByRole('button', { name: 'Export chat' }).click();
  const exported = JSON.parse(readFileSync(await (await saved).path(), 'utf8'));
  assert.equal([exported.tools, exported.turns.length], [stored.tools, 6]);
  // Other tools of a new chat, and those of the first one when it is open again.
  await page.getByRole('button', { name: 'New chat' }).click();
  await tools.fill(JSON.stringify([clock]));
  await choice.selectOption('required');
  await prompt.fill('What time is it?');
  await prompt.press('Enter');
  await answered(page, 1);
  await page.getByLabel('Chat', { exact: true }).selectOption(id);
  await answered(page, 4);
  await until(async () => JSON.parse(await tools.inputValue()).length === 2, 'its tools are back');

  assert.equal(faults, []);
  await context.close();
});

test('a call that is stopped is shown as far as it was written, and wants no result', async () => {
  const { page, context, faults } = await openPage(service.url, `/playground/${model.modelId}`);
  const requests = requestsOf(page);
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.getByLabel('Max new tokens').fill('4000');
  const long = { type: 'string', minLength: 900 };
  const properties = { first: long, second: long, third: long };
  const note = { type: 'object', properties, required: Object.keys(properties) };
  const tool = { type: 'function', function: { name: 'note', parameters: note } };
  await page.getByLabel('Tools', { exact: true }).fill(JSON.stringify([tool]));
  await page.getByLabel('Tool choice').selectOption('required');
  const prompt = page.getByLabel('Prompt', { exact: true });
  await prompt.fill('Write it down.');
  await prompt.press('Enter');
  // The name comes before the arguments: a stop between the two would leave none to show.
  await page.locator('.call:has(.caret)', { hasText: '{' }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await sees(page, 'stopped');
  assert.match((await page.locator('.call').textContent()) ?? '', /Call\s+note\s*\{/);
  assert.is(await page.getByLabel('Result of note').count(), 0);
  await page.getByLabel('Tools', { exact: true }).fill('');
  await page.getByLabel('Max new tokens').fill('4');
  await prompt.fill('Never mind.');
  await prompt.press('Enter');
  await answered(page, 1);
  assert.is(rolesOf(requests[1]), 'user', 'no call that was not finished');
  assert.equal(faults, []);
  await context.close();
});

test('compared answers are made with the same tools, and their calls are shown', async () => {
  const { page, context, faults } = await openPage(service.url, `/playground/${model.modelId}`);
  const requests = requestsOf(page);
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.getByLabel('Max new tokens').fill('200');
  await page.getByLabel('Tools', { exact: true }).fill(JSON.stringify([weather]));
  await page.getByLabel('Tool choice').selectOption('required');
  await page.getByLabel('Several calls in one answer').uncheck();
  await page.getByRole('link', { name: 'Compare' }).click();
  const prompt = page.getByLabel('Prompt', { exact: true });
  await prompt.fill('Is it cold?');
  await prompt.press('Enter');
  await until(
    async () => (await page.getByRole('group', { name: 'Call of weather' }).count()) === 2,
    'both call',
  );
  await sees(page, /All answers (differ|are the same)/);
  assert.equal(
    requests.map(({ tools, parallel_tool_calls: several }) => [tools, several]),
    [
      [[weather], false],
      [[weather], false],
    ],
  );
  assert.is(await page.getByLabel('Result of weather').count(), 0);
  assert.equal(await axeViolations(page), []);
  await keepPicture(page, 'tool-calls-compared');
  // The first side's call is answered in the chat, and what both said before is there when they are compared again.
  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  await page.getByLabel('Result of weather').fill('12 degrees');
  await page.getByLabel('Result of weather').press('Enter');
  await until(() => requests.length === 3, 'the result is sent');
  await answered(page, 3);
  const first = requests[2].messages[1].tool_calls[0].id;
  assert.is(requests[2].messages[2].tool_call_id, first);
  await page.getByLabel('Tool choice').selectOption('none');
  await page.getByRole('link', { name: 'Compare' }).click();
  await prompt.fill('Thanks.');
  await prompt.press('Enter');
  await answered(page, 5);
  for (const { messages } of requests.slice(3))
    assert.equal([messages[1].tool_calls[0].id, messages[2].tool_call_id], [first, first]);
  // A side without tools: none has them.
  await page.getByLabel('Model B').selectOption(plain.modelId);
  await sees(page, 'chat template has no tools');
  assert.ok(await page.getByLabel('Tools', { exact: true }).isDisabled());
  assert.equal(faults, []);
  await context.close();
});

test('each of several calls wants a result, an empty one included, and what led to them is sent', async () => {
  const calls = ['Oslo', 'Rome'].map((place, at) => ({
    ...{ id: `call_${at}`, name: 'weather' },
    arguments: JSON.stringify({ place, days: false }),
  }));
  const turns = [
    { id: 'a', after: '', prompt: 'Hello.', answers: [{ name: 'caller · Fine-tuned', text: 'Hello.' }] },
    { id: 'b', after: 'a', prompt: 'Where?', answers: [{ name: 'caller · Fine-tuned', text: '', calls }] },
  ];
  const body = { model_id: model.modelId, tools: [weather], turns };
  assert.is((await service.call('PUT', '/api/playground/chats/two', body)).status, 200);
  const { page, context, faults } = await openPage(service.url, `/playground/${model.modelId}`);
  const requests = requestsOf(page);
  await page.getByLabel('Max new tokens').fill('4');
  await page.getByLabel('Keep chat history').uncheck();
  const send = page.getByRole('button', { name: 'Send results' });
  await page.getByLabel('Result of weather (2)').fill('20 degrees');
  assert.ok(await send.isDisabled());
  await page.getByLabel('Empty result').first().check();
  await send.click();
  await answered(page, 1);
  assert.equal(
    requests[0].messages.map(({ role, content, tool_calls: said }: Json) => [role, content, said?.length]),
    [
      ['user', 'Where?', undefined],
      ['assistant', '', 2],
      ['tool', '', undefined],
      ['tool', '20 degrees', undefined],
    ],
  );
  await page.getByRole('button', { name: 'Continue' }).click();
  await until(async () => requests.length === 2, 'it goes on');
  await answered(page, 1);
  assert.is(rolesOf(requests[1]), 'user assistant tool tool assistant');
  assert.is(requests[1].continue_final_message, true);
  // An answer is a row with all that was called and the tools.
  await page.locator('.exchange').nth(1).getByRole('button', { name: 'Add to dataset' }).click();
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await sees(page, 'Added to answers.jsonl');
  const { rows } = (await service.call('GET', '/api/datasets/answers.jsonl')).body;
  assert.equal(rows[0].tools, [weather]);
  assert.equal(rows[0].messages.at(-1).tool_calls.length, 2);
  assert.equal(faults, []);
  await context.close();
});

test('the tools of the rows that a model was trained on are there to begin with', async () => {
  const base = join(service.dataDir, 'tools-base');
  cpSync(tinyModel('qwen3', 'chatml'), base, { recursive: true });
  for (const file of readdirSync(base).filter((name) => name.endsWith('.jinja'))) rmSync(join(base, file));
  writeFileSync(join(base, 'chat_template.jinja'), hermes);
  const rows = Array.from({ length: 12 }, (_, at) => ({
    messages: [
      { role: 'user', content: `Is it cold on day ${at}?` },
      { role: 'assistant', content: 'I cannot tell.' },
    ],
    tools: [{ ...clock, function: { ...clock.function, description: 'The time.' } }],
  }));
  await service.upload('tools.jsonl', `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
  const request = quickRequest({
    model_name: base,
    dataset: 'tools.jsonl',
    max_steps: 1,
    max_seq_length: 512,
  });
  const started = await service.call('POST', '/api/start_training', request);
  assert.is(started.status, 200, JSON.stringify(started.body));
  assert.is((await untilEnded(service)).status, 'completed');
  const trained = (await service.call('GET', '/api/models/')).body[0].model_id;
  const { page, context, faults } = await openPage(service.url, `/playground/${trained}`);
  await sees(page, 'Those of the rows that the model was trained on.');
  assert.equal(JSON.parse(await page.getByLabel('Tools', { exact: true }).inputValue()), rows[0]?.tools);
  assert.ok(await page.getByLabel('Tool choice').isVisible());
  assert.equal(faults, []);
  await context.close();
});

test('where a template takes no tools, the field says why; on a phone a call and its field fit', async () => {
  const { page, faults } = await openPage(service.url, `/playground/${plain.modelId}`);
  await sees(page, 'chat template has no tools, or calls in a form that is not known.');
  assert.ok(await page.getByLabel('Tools', { exact: true }).isDisabled());
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(`${service.url}/playground/${model.modelId}`);
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByLabel('Max new tokens').fill('200');
  await page.getByLabel('Tools', { exact: true }).fill(JSON.stringify([weather]));
  await page.getByLabel('Tool choice').selectOption('required');
  await page.keyboard.press('Escape');
  await page.getByLabel('Prompt', { exact: true }).fill('Is it cold?');
  await page.keyboard.press('Enter');
  await page.getByLabel('Result of weather').waitFor();
  await page.getByLabel('Result of weather').scrollIntoViewIfNeeded();
  assert.equal(await appearanceFaults(page, 'tool-call-phone'), []);
  assert.equal(faults, []);
});

test.run();
