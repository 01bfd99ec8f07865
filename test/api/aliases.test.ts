/** Names that move from model to model: requests while one moves, undo, a model that was deleted, and bad input. */
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startRemote } from '../remote-service.ts';
import { endAll, startService, type TestService, temporaryFolder } from '../service.ts';
import { type StoredModel, saying, storeModel } from '../stored-model.ts';

const chatTemplate = `{% for message in messages %}{{ message.content }}{% endfor %}#`;

let service: TestService;
let client: OpenAI;
const models: Record<string, StoredModel> = {};

test.before(async () => {
  const dataDir = temporaryFolder();
  for (const name of ['abc', 'xyz'])
    models[name] = storeModel(dataDir, name, undefined, { layers: 1, chatTemplate, next: saying(name) });
  service = await startService({ dataDir });
  client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'unused', maxRetries: 0 });
});
test.after(endAll);

const move = (model: string, name = 'support@live') => service.call('POST', '/api/aliases', { name, model });
const undo = (name = 'support@live') => service.call('POST', `/api/aliases/${name}/undo`);
async function say(model = 'support@live'): Promise<string | null> {
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const answer = await client.chat.completions.create({ model, messages, max_tokens: 8, temperature: 0 });
  assert.is(answer.model, model);
  return answer.choices[0]?.message.content ?? null;
}

test('an alias is answered by what it stands for, is moved, and moved back', async () => {
  const { status, body } = await move('abc');
  assert.equal([status, body.name, body.model, body.history], [200, 'support@live', 'abc', []]);
  assert.is(await say(), 'abc');
  const moved = (await move('xyz')).body;
  assert.equal([moved.model, moved.history.map(({ model }: { model: string }) => model)], ['xyz', ['abc']]);
  assert.is(await say(), 'xyz');
  assert.is((await move('xyz')).body.history.length, 1, 'moved to where it is');
  assert.is((await undo()).body.model, 'abc');
  assert.is(await say(), 'abc');
  const last = await undo();
  assert.equal(
    [last.status, last.body.detail],
    [409, 'support@live was never moved. Delete it if it is not needed.'],
  );
});

test('models and aliases are listed, and an alias of an alias stands for the same model', async () => {
  await move('support@live', 'copy@next');
  await move('xyz');
  assert.equal([await say('copy@next'), await say()], ['abc', 'xyz']);
  const names: string[] = [];
  for await (const { id } of client.models.list()) names.push(id);
  assert.equal(names.sort(), ['abc', 'copy@next', 'support@live', 'xyz']);
  assert.is((await client.models.retrieve('support@live')).id, 'support@live');
  const { aliases } = (await service.call('GET', '/api/aliases')).body;
  assert.equal(
    aliases.map(({ name, model }: { name: string; model: string }) => [name, model]),
    [
      ['copy@next', 'abc'],
      ['support@live', 'xyz'],
    ],
  );
});

test('no request fails while an alias moves', async () => {
  let isMoving = true;
  const moving = (async () => {
    for (let at = 0; isMoving; at += 1) await move(at % 2 === 0 ? 'abc' : 'xyz');
  })();
  const said: (string | null)[] = [];
  const ask = async () => {
    for (let count = 0; count < 50; count += 1) said.push(await say());
  };
  await Promise.all([ask(), ask(), ask(), ask()]);
  isMoving = false;
  await moving;
  assert.is(said.length, 200);
  assert.equal([...new Set(said)].sort(), ['abc', 'xyz']);
});

test('a split sends conversations to a candidate, counts what is liked of each, and ends with a move', async () => {
  await move('abc', 'split@live');
  const split = (body: object, name = 'split@live') =>
    service.call('POST', `/api/aliases/${name}/split`, body);
  const begun = await split({ model: 'xyz', percent: 30 });
  assert.equal([begun.status, begun.body.model, begun.body.split.model], [200, 'abc', 'xyz']);
  const none = { answers: 0, up: 0, down: 0, liked: null, milliseconds: null, graded: 0, score: null };
  const { current, candidate, difference, better } = begun.body.split;
  assert.equal([current, candidate, difference, better], [none, none, null, null]);

  const asked = { max_tokens: 4, temperature: 0, store: true };
  /** What the first turn, and a later one with another system prompt, of a conversation are answered. */
  const converse = async (number: number) => {
    const first = { role: 'user' as const, content: `Question ${number}` };
    const turns = [
      await client.chat.completions.create({ ...asked, model: 'split@live', messages: [first] }),
      await client.chat.completions.create({
        ...asked,
        model: 'split@live',
        messages: [first, { role: 'assistant', content: 'What?' }, { role: 'user', content: 'That.' }],
      }),
    ];
    assert.equal([...new Set(turns.map((turn) => turn.model))], ['split@live'], 'nobody sees which');
    const texts = turns.map(({ choices }) => choices[0]?.message.content);
    assert.is(texts[0], texts[1], 'a conversation stays with its model');
    const rating = texts[0] === 'xyz' ? 'up' : 'down';
    for (const { id } of turns)
      assert.is((await service.call('POST', `/v1/chat/completions/${id}/feedback`, { rating })).status, 200);
    return texts[0];
  };
  const said: unknown[] = [];
  for (let number = 0; number < 60; number += 1) said.push(await converse(number));
  const share = said.filter((text) => text === 'xyz').length;
  // Within four standard deviations of 18.
  assert.ok(share >= 4 && share <= 32, `${share} of 60`);
  const kept = (await service.call('GET', '/v1/chat/completions?model=split@live')).body;
  assert.not.match(JSON.stringify(kept), models.xyz?.modelId as string, 'nor in a kept answer');

  const { aliases } = (await service.call('GET', '/api/aliases')).body;
  const found = aliases.find(({ name }: { name: string }) => name === 'split@live').split;
  assert.equal(
    [found.percent, found.current.answers, found.current.down, found.candidate.answers, found.candidate.up],
    [30, 120 - 2 * share, 120 - 2 * share, 2 * share, 2 * share],
  );
  assert.equal([found.candidate.liked.share, found.current.liked.share], [1, 0]);
  assert.ok(found.difference.low > 0 && found.difference.low < 1 && found.better === 'candidate');
  assert.ok(found.candidate.milliseconds > 0);

  for (const [body, name, status] of [
    [{ model: 'abc', percent: 30 }, 'split@live', 400],
    [{ model: 'split@live', percent: 30 }, 'split@live', 400],
    [{ model: 'xyz', percent: 0 }, 'split@live', 400],
    [{ model: 'xyz', percent: 100 }, 'split@live', 400],
    [{ model: 'xyz', percent: 1.5 }, 'split@live', 400],
    [{ model: 'xyz' }, 'split@live', 400],
    [{ model: 'nothing', percent: 30 }, 'split@live', 404],
    [{ model: 'xyz', percent: 30 }, 'no@live', 404],
  ] as const)
    assert.is((await split(body, name)).status, status, JSON.stringify([body, name]));
  assert.is((await service.call('GET', '/api/aliases')).body.aliases.length, aliases.length);

  const promoted = (await move('xyz', 'split@live')).body;
  assert.equal([promoted.model, promoted.split], ['xyz', null]);
  await split({ model: 'abc', percent: 99 });
  assert.is((await service.call('DELETE', '/api/aliases/split@live/split')).body.split, null);
  assert.is(await say('split@live'), 'xyz');
});

test('a split is spelled behind the name, and a grader compares its models', async () => {
  await move('abc', 'graded@live');
  const spelled = (await move('xyz', 'graded@live:split=40')).body;
  assert.equal([spelled.model, spelled.split.model, spelled.split.percent], ['abc', 'xyz', 40]);
  assert.is(spelled.split.grader, null);
  for (const [name, status] of [
    ['graded@live:split=0', 400],
    ['graded@live:split=100', 400],
    ['graded@live:split=x', 400],
    ['missing@live:split=10', 404],
  ] as const)
    assert.is((await move('xyz', name)).status, status, name);

  const grader = async (definition: object) =>
    assert.is((await service.call('POST', '/api/graders', definition)).status, 200);
  const check = { type: 'string_check', input: '{{sample.output_text}}', operation: 'eq' };
  await grader({ ...check, name: 'answer', reference: '{{item.correction}}' });
  await grader({ ...check, name: 'columns', reference: '{{item.right}}' });
  await grader({ type: 'python', name: 'outside', source: 'def grade(sample, item):\n    return 2.0' });
  const split = (body: object) =>
    service.call('POST', '/api/aliases/graded@live/split', { model: 'xyz', percent: 40, ...body });
  for (const [name, words] of [
    ['nothing', 'There is no grader nothing'],
    ['columns', 'names the column right, which is not there'],
  ] as const) {
    const { status, body } = await split({ grader: name });
    assert.is(status, 400);
    assert.match(JSON.stringify(body), words);
  }
  const grade = (body: object = {}) => service.call('POST', '/api/aliases/graded@live/split/grade', body);
  assert.is((await grade()).status, 409, 'a split without a grader');
  assert.is((await split({ grader: 'answer' })).status, 200);

  const said = new Map<string, number>();
  for (let number = 0; number < 30; number += 1) {
    const messages = [{ role: 'user' as const, content: `Question ${number}` }];
    const { id, choices } = await client.chat.completions.create({
      ...{ model: 'graded@live', messages, max_tokens: 8, temperature: 0, store: true },
    });
    const text = choices[0]?.message.content as string;
    said.set(text, (said.get(text) ?? 0) + 1);
    await service.call('POST', `/v1/chat/completions/${id}/feedback`, { rating: null, correction: 'xyz' });
  }
  const first = (await grade()).body;
  assert.equal([first.graded, first.failed, first.error, first.alias.split.grader.left], [20, 0, null, 10]);
  const { alias: graded } = (await grade()).body;
  const { current, candidate, grader: compared } = graded.split;
  assert.equal([current.graded, candidate.graded], [said.get('abc'), said.get('xyz')]);
  assert.equal([current.score.share, candidate.score.share], [0, 1]);
  assert.equal(
    [compared.name, compared.deleted, compared.left, compared.better],
    ['answer', false, 0, 'candidate'],
  );
  assert.is(compared.difference.share, 1);
  assert.equal([(await grade()).body.graded, graded.split.better], [0, null]);

  // Another definition scores anew, one that was deleted is said to be, and scores beyond 0 to 1 are failures.
  const changed = { ...check, name: 'answer', reference: 'abc' };
  assert.is((await service.call('PUT', '/api/graders/answer', changed)).status, 200);
  await grade();
  const again = (await grade()).body.alias.split;
  assert.equal([again.current.score.share, again.candidate.score.share, again.grader.left], [1, 0, 0]);
  assert.is((await service.call('DELETE', '/api/graders/answer')).status, 200);
  const [gone] = (await service.call('GET', '/api/aliases')).body.aliases.filter(
    ({ name }: { name: string }) => name === 'graded@live',
  );
  assert.equal([gone.split.grader.deleted, gone.split.current.score], [true, null]);
  assert.is((await grade()).status, 404);
  await split({ grader: 'outside' });
  const [one] = (await service.call('GET', '/v1/chat/completions?model=graded@live')).body.data;
  assert.is((await service.call('DELETE', `/v1/chat/completions/${one.id}`)).status, 200);
  await client.chat.completions.create({
    ...{ model: 'graded@live', messages: [{ role: 'user', content: 'Last' }], max_tokens: 8, store: true },
  });
  const failed = (await grade()).body;
  assert.match(failed.error, 'The score is 2; two models are compared by scores from 0 to 1.');
  assert.ok(failed.failed > 0 && failed.graded === 0);
  assert.is((await grade()).body.failed, 0, 'they are not scored again by themselves');
  assert.is((await grade({ retry_failed: true })).body.failed, failed.failed);
  assert.is((await service.call('DELETE', '/api/aliases/graded@live')).status, 200);
});

test('an alias of a deleted model answers 404 by its own name, and never as another model', async () => {
  await move('abc');
  await service.call('POST', '/api/aliases/split@live/split', { model: 'abc', percent: 99 });
  const { status } = await service.call('DELETE', `/api/models/${models.abc?.modelId}`);
  assert.is(status, 200);
  const error = await say().catch((thrown) => thrown);
  assert.is(error.status, 404);
  assert.match(error.message, 'The model that support@live stands for was deleted. Move the alias.');
  const { aliases } = (await service.call('GET', '/api/aliases')).body;
  assert.is(aliases.find(({ name }: { name: string }) => name === 'support@live').model, null);
  assert.not.ok((await client.models.list()).data.some(({ id }) => id === 'support@live'));
  assert.is((await undo()).body.model, 'xyz');
  assert.is(await say(), 'xyz');
  assert.is(await say('split@live'), 'xyz', 'a candidate that was deleted answers nothing more');
  assert.is((await service.call('DELETE', '/api/aliases/split@live')).status, 200);
});

test('an alias is split between a model of another service and one that is here, whichever began', async () => {
  const remote = await startRemote();
  try {
    await service.call('POST', '/api/remote_models', { name: 'good', url: remote.url });
    for (const [first, second] of [
      ['good', 'xyz'],
      ['xyz', 'good'],
    ] as const) {
      await move(first, 'split@live');
      const split = { model: second, percent: 50 };
      assert.is((await service.call('POST', '/api/aliases/split@live/split', split)).status, 200);
      const said = new Map<string | null, Set<string>>();
      for (let index = 0; index < 16; index += 1) {
        // A conversation stays with its model, however its texts are written.
        for (const content of [
          [{ type: 'text' as const, text: `${index}` }],
          [{ text: `${index}`, type: 'text' as const }],
        ]) {
          const messages = [{ role: 'user' as const, content }];
          const { choices } = await client.chat.completions.create({
            model: 'split@live',
            messages,
            max_tokens: 8,
            temperature: 0,
          });
          const text = choices[0]?.message.content ?? null;
          said.set(text, (said.get(text) ?? new Set()).add(String(index)));
        }
      }
      assert.equal([...said.keys()].sort(), ['We trace it – now.', 'xyz']);
      assert.is(
        [...said.values()].reduce((sum, { size }) => sum + size, 0),
        16,
      );
    }
    await service.call('DELETE', '/api/remote_models/good');
    assert.is(
      await say('split@live'),
      'xyz',
      'a model of another service that was removed answers nothing more',
    );
    assert.is((await service.call('DELETE', '/api/aliases/split@live')).status, 200);
  } finally {
    remote.close();
  }
});

test('bad input changes nothing and says what is wrong', async () => {
  for (const [name, model, status] of [
    ['support', 'xyz', 400],
    ['a b@live', 'xyz', 400],
    [`${'a'.repeat(65)}@live`, 'xyz', 400],
    ['a@b@c', 'xyz', 400],
    ['new@live', 'nothing', 404],
    ['new@live', 'other@live', 404],
  ] as const)
    assert.is((await move(model, name)).status, status, `${name} ${model}`);
  for (const path of ['new@live', 'xyz', 'a%20b'])
    for (const [method, end] of [
      ['DELETE', ''],
      ['POST', '/undo'],
    ])
      assert.is((await service.call(method as string, `/api/aliases/${path}${end}`)).status, 404);
  assert.is((await service.call('DELETE', '/api/aliases/copy@next')).status, 200);
  assert.is((await service.call('GET', '/api/aliases')).body.aliases.length, 1);
});

test.run();
