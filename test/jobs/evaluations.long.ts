/** `/api/evaluations` with the real trainer: a model, its checkpoint and its base, and preferences. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  tinyModel,
} from '../service.ts';
import { score, train } from './evaluating.ts';

let service: TestService;

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

test('a trained model, its checkpoint and its base are scored on the same rows', async () => {
  const request = quickRequest({ learning_rate: 1e-2, save_steps: 3, save_total_limit: 5 });
  const model = await train(service, request);
  const of = { dataset: 'support.jsonl', rows: 4 };
  const tuned = await score(service, { ...of, model: model.model_id });
  const early = await score(service, { ...of, model: 'train_1', checkpoint: 3 });
  const base = await score(service, { ...of, model: model.model_id, as_base: true });
  const losses = [tuned, early, base].map(({ figures }) => figures.loss);
  assert.equal([...losses].sort(), losses);
  assert.is(new Set(losses).size, 3);
  const lines = [tuned, early, base].map(({ results }) => results.map(({ line }: Json) => line));
  assert.equal(lines, [
    [1, 2, 3, 4],
    [1, 2, 3, 4],
    [1, 2, 3, 4],
  ]);
  assert.ok(Math.abs(base.figures.perplexity - Math.exp(base.figures.loss)) < 1e-6 * base.figures.perplexity);
});

test('preferences have a win rate', async () => {
  const pairs = Array.from({ length: 10 }, (_, number) => ({
    prompt: `Number ${number}`,
    ...{ chosen: 'Yes', rejected: 'Not at all' },
  }));
  await service.upload('pairs.jsonl', pairs.map((pair) => `${JSON.stringify(pair)}\n`).join(''));
  const { figures } = await score(service, { dataset: 'pairs.jsonl', base_model: tinyModel('llama') });
  assert.ok(figures.win_rate >= 0 && figures.win_rate <= 100 && figures.loss > 0);
});

test.run();
