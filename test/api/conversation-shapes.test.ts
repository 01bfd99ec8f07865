/** A cheap sample of conversation-matrix.long.ts: one model, answers that must not be learned, and preferences. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, tinyModel } from '../service.ts';
import { trainAndAsk } from './conversation-shapes.ts';

let service: TestService;

test.before(async () => {
  service = await startService({ warm: true });
});
test.after(endAll);

const path = tinyModel('qwen3', 'chatml');

test('a model learns the last turn of conversations, and not the wrong one before it', async () => {
  const { right, sequences } = await trainAndAsk(service, { path, shape: 'weights', hasSystem: true });
  assert.ok(right > 0);
  assert.is(sequences, null);
});

test('a model trains on preferences between answers to a conversation, and answers', async () => {
  const { asked } = await trainAndAsk(service, { path, shape: 'preferences', hasSystem: true });
  assert.is(asked, 6);
});

test.run();
