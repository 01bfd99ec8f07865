/** Which kinds of models a start takes for which task and strategy: none that the trainer then refuses. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  tinyModel,
  untilEnded,
} from '../service.ts';

let service: TestService;
const questions = 'extractive-question-answering';

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
  const rows = readFileSync(join(root, 'examples', 'question-answering.jsonl'), 'utf8');
  assert.is((await service.upload('questions.jsonl', rows)).status, 200);
});
test.after(endAll);

const request = (kind: string, changes: Record<string, unknown> = {}) =>
  quickRequest({ model_name: tinyModel(kind), export: 'none', max_steps: 2, eval_split: 0.1, ...changes });

test('a model that cannot be trained for the task is refused at the start, with the models that can', async () => {
  const refused: [string, Record<string, unknown>, RegExp][] = [
    ['bert', {}, /BertForQuestionAnswering cannot be trained for text-generation with the strategy sft/],
    ['t5', { strategy: 'qlora' }, /T5ForConditionalGeneration .* the strategy qlora/],
    [
      'bart',
      { task: questions, dataset: 'questions.jsonl', strategy: 'qlora' },
      /BartForConditionalGeneration cannot be trained for extractive-question-answering/,
    ],
  ];
  for (const [kind, changes, words] of refused) {
    for (const path of ['/api/start_training', '/api/finetune/start_training']) {
      const { status, body } = await service.call('POST', path, request(kind, changes));
      assert.ok(status === 400 || status === 422, `${kind}: ${status}`);
      assert.match(JSON.stringify(body), words);
      assert.match(JSON.stringify(body), 'ForCausalLM');
    }
  }
  assert.is((await service.call('GET', '/api/jobs')).body.total, 0);
});

test('BART and T5 answer questions out of a context, from the start to the model', async () => {
  for (const kind of ['bart', 't5']) {
    const changes = { task: questions, dataset: 'questions.jsonl', max_seq_length: -1 };
    const { status, body } = await service.call('POST', '/api/start_training', request(kind, changes));
    assert.is(status, 200, JSON.stringify(body));
    const ended = await untilEnded(service);
    assert.is(ended.status, 'completed', JSON.stringify(ended));
    const job: Json = (await service.call('GET', `/api/jobs/${body.job_id}`)).body;
    assert.type(job.metrics.f1, 'number');
    const model = (await service.call('GET', '/api/models')).body.models.at(-1);
    const prompt = 'The parcel is in the hall.\n\nWhere is the parcel?';
    const asked = { model_id: model.id, prompt, max_new_tokens: 4, temperature: 0, top_p: 1 };
    const answer = await service.call('POST', '/api/playground/generate', asked);
    assert.is(answer.status, 200, JSON.stringify(answer));
    assert.type(answer.body.generated_text, 'string');
  }
});

test.run();
