/** The chats of the playground, as the service keeps them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../folders.ts';
import { endAll, type InsideService, openInside } from '../inside-service.ts';
import { type StoredModel, storeModel } from '../stored-model.ts';

let service: InsideService;
let model: StoredModel;
test.before(async () => {
  const dataDir = temporaryFolder();
  model = storeModel(dataDir);
  service = await openInside({ dataDir });
});
test.after(endAll);

const route = '/api/playground/chats';
const turn = (id: string, after: string, prompt: string, text = 'Yes.') => ({
  ...{ id, after, prompt },
  answers: [{ name: 'tiny', text }],
});
const listed = async (query = '') =>
  (await service.call('GET', `${route}${query}`)).body.chats.map(({ title }: { title: string }) => title);

test('a chat is stored, changed turn by turn, found, exported, deleted and stored again', async () => {
  const words = `Where is ${'my parcel '.repeat(10)}`;
  const put = await service.call('PUT', `${route}/c1`, { model_id: 'm1', turns: [turn('a', '', words)] });
  assert.is(put.status, 200, JSON.stringify(put.body));
  await service.call('PUT', `${route}/c2`, { model_id: 'm2', turns: [turn('a', '', 'Grüße "an"\nalle')] });
  assert.equal(await listed(), ['Grüße "an" alle', `${words.slice(0, 60)}…`], 'the latest first');
  const changed = await service.call('PATCH', `${route}/c1`, {
    turns: [turn('b', '', 'Another version', 'STRASSE'), turn('a', '', words, 'Changed.')],
    chosen: { '': 'b' },
  });
  assert.is(changed.body.turns, 2);
  assert.equal(await listed('?model_id=m1'), [`${words.slice(0, 60)}…`]);
  assert.equal(await listed('?search=strasse'), [`${words.slice(0, 60)}…`]);
  assert.equal(await listed(`?search=${encodeURIComponent('GRÜSSE "AN"\nA'.replace('SS', 'ß'))}`), [
    'Grüße "an" alle',
  ]);
  assert.equal(await listed('?search=prompt'), [], 'names of fields are no text');
  await service.call('PATCH', `${route}/c1`, { name: '  A lost parcel ' });
  assert.equal(await listed('?search=LOST'), ['A lost parcel']);
  const { body: whole } = await service.call('GET', `${route}/c1`);
  assert.equal(
    [whole.name, whole.chosen, whole.turns.map(({ id }: { id: string }) => id)],
    ['A lost parcel', { '': 'b' }, ['a', 'b']],
  );
  assert.is(whole.turns[0].answers[0].text, 'Changed.');

  assert.is((await service.call('DELETE', `${route}/c1`)).status, 200);
  assert.is((await service.call('GET', `${route}/c1`)).status, 404);
  assert.is((await service.call('PATCH', `${route}/c1`, { name: 'x' })).status, 404);
  assert.is((await service.call('DELETE', `${route}/c1`)).status, 404);
  const again = await service.call('PUT', `${route}/c1`, whole);
  assert.equal(
    { ...again.body, updated_at: null, created_at: null },
    { ...whole, updated_at: null, created_at: null },
  );
  assert.equal(await listed(), ['A lost parcel', 'Grüße "an" alle']);
});

test('a chat keeps its tools, calls and their results, which a search finds', async () => {
  const tools = [{ type: 'function', function: { name: 'weather', strict: true } }];
  const call = { id: 'call_1', name: 'weather', arguments: '{"place": "Oslo"}' };
  const called = {
    ...turn('a', '', 'Is it cold?', ''),
    answers: [{ name: 'tiny', text: '', calls: [call] }],
  };
  const results = [{ call_id: 'call_1', name: 'weather', content: '12 DEGREES' }];
  const turns = [called, { ...turn('b', 'a', ''), results }];
  const put = await service.call('PUT', `${route}/tools`, { model_id: 'm1', tools, turns });
  assert.is(put.status, 200, JSON.stringify(put.body));
  const { body } = await service.call('GET', `${route}/tools`);
  assert.equal(body.tools, tools);
  assert.equal([body.turns[0].answers[0].calls, body.turns[1].results], [[call], results]);
  assert.equal([body.turns[0].results, body.turns[1].answers[0].calls], [[], []]);
  for (const words of ['oslo', 'weather', 'degrees'])
    assert.equal(await listed(`?search=${words}`), ['Is it cold?']);
  await service.call('PATCH', `${route}/tools`, { name: 'Cold' });
  assert.equal((await service.call('GET', `${route}/tools`)).body.tools, tools, 'another change leaves them');
  await service.call('PATCH', `${route}/tools`, { tools: [] });
  assert.equal((await service.call('GET', `${route}/tools`)).body.tools, []);
  for (const wrong of [{ tools: [1] }, { tools: [[]] }, { tools: {} }])
    assert.is((await service.call('PATCH', `${route}/tools`, wrong)).status, 400, JSON.stringify(wrong));
  await service.call('DELETE', `${route}/tools`);
});

test('chats of models that were deleted are listed by themselves', async () => {
  await service.call('PUT', `${route}/c3`, {
    model_id: model.modelId,
    turns: [turn('a', '', 'Still here?')],
  });
  const before = await listed('?model_deleted=true');
  assert.equal(before.includes('Still here?'), false);
  assert.ok(before.length > 0 && (await listed()).includes('Still here?'));
  assert.is((await service.call('GET', `${route}?model_deleted=maybe`)).status, 400);
  assert.is((await service.call('DELETE', `/api/models/${model.modelId}`)).status, 200);
  assert.equal(await listed('?model_deleted=true&search=still'), ['Still here?']);
  await service.call('DELETE', `${route}/c3`);
});

test('what is no chat is refused and changes nothing', async () => {
  const before = (await service.call('GET', route)).body;
  const answers = [{ name: 'tiny', text: 'Yes.' }];
  for (const [path, body] of [
    [`${route}/a%20b`, { model_id: 'm', turns: [] }],
    [`${route}/c1`, { model_id: 'm', turns: [{ id: 'a', after: '', answers }] }],
    [`${route}/c1`, { model_id: 'm', turns: [{ ...turn('a', '', 'x'), after: '../x' }] }],
    [
      `${route}/c1`,
      { model_id: 'm', turns: [{ ...turn('a', '', 'x'), answers: [{ ...answers[0], rating: 'fair' }] }] },
    ],
    [`${route}/c1`, { model_id: 'm', turns: [], more: 1 }],
  ] as const)
    assert.is((await service.call('PUT', path, body)).status, 400, JSON.stringify(body));
  assert.is((await service.call('PATCH', `${route}/c1`, { name: ' ' })).status, 400);
  assert.equal((await service.call('GET', route)).body, before);
});

test.run();
