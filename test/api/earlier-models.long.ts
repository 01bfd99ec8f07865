/** Models of an earlier version, which did not record their bases, are blended: their jobs still tell them. */
import { cpSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  untilEnded,
} from '../service.ts';

let service: TestService;
const base = join(temporaryFolder(), 'base');

test.before(async () => {
  cpSync(tinyModel('llama', 'chatml'), base, { recursive: true });
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
  for (const learning_rate of [0.01, 0.02]) {
    const changes = { model_name: base, learning_rate, max_steps: 2, export: { quantizations: ['F16'] } };
    assert.is((await service.call('POST', '/api/start_training', quickRequest(changes))).status, 200);
    assert.is((await untilEnded(service)).status, 'completed');
  }
});
test.after(endAll);

test('their bases are found out when they are blended, unless they were changed', async () => {
  const models: Json[] = (await service.call('GET', '/api/catalog')).body.models;
  const notes = models.map(({ path }) => join(path, 'base.json'));
  const before = notes.map((path) => readFileSync(path, 'utf8'));
  for (const path of notes) rmSync(path);
  const [one, other] = models as [Json, Json];
  const blend = () =>
    service.call('POST', '/v1/chat/completions', {
      ...{
        model: one.name,
        messages: [{ role: 'user', content: 'My parcel' }],
        max_tokens: 4,
        temperature: 0,
      },
      blend: { model: other.name, scale: 0.5 },
    });
  const { status, body } = await blend();
  assert.is(status, 200, JSON.stringify(body));
  assert.equal(
    notes.map((path) => JSON.parse(readFileSync(path, 'utf8'))),
    before.map((text) => JSON.parse(text)),
  );

  rmSync(notes[1] as string);
  const later = new Date(Date.now() + 60_000);
  utimesSync(join(base, 'config.json'), later, later);
  const refused = await blend();
  assert.is(refused.status, 400);
  assert.match(
    refused.body.error.message,
    "The base model's files have changed since the training. Train it again.",
  );
});

test.run();
