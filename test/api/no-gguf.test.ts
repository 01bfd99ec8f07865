/** A model that llama.cpp cannot run: trained without a GGUF where nobody asked for one, which is said everywhere. */
import { readFileSync } from 'node:fs';
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
  tinyModel,
  untilEnded,
} from '../service.ts';

let service: TestService;
const starts = ['/api/finetune/start_training', '/api/start_training'];

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

for (const [index, [kind, architecture]] of [
  ['t5', 'T5ForConditionalGeneration'],
  ['bart', 'BartForConditionalGeneration'],
].entries()) {
  test(`${kind} with no export given trains, and says that it gets no GGUF`, async () => {
    const request = quickRequest({ model_name: tinyModel(kind as string), max_steps: 3 });
    const estimated = await service.call('POST', '/api/estimate', request);
    assert.is(estimated.status, 200);
    assert.match(
      estimated.body.advice.join(' '),
      `no GGUF file: llama.cpp cannot run the architecture ${architecture}`,
    );
    const started = await service.call('POST', starts[index] as string, request);
    assert.is(started.status, 200, JSON.stringify(started.body));
    assert.match(
      started.body.message,
      `started. There will be an adapter and no GGUF file: llama.cpp cannot`,
    );
    const ended = await untilEnded(service);
    assert.is(ended.status, 'completed', JSON.stringify(ended));
    const { job_id: id } = started.body;
    const journal = readFileSync(join(service.dataDir, 'jobs', id, 'journal.jsonl'), 'utf8')
      .trim()
      .split('\n');
    const warning = journal.map((line) => JSON.parse(line)).find(({ code }) => code === 'no_gguf');
    assert.match(warning?.message ?? '', architecture as string);
    const job = (await service.call('GET', `/api/jobs/${id}`)).body;
    assert.is(job.export, null, 'the record tells what is made');
    assert.equal(job.artifacts.map((one: Json) => one.kind).sort(), ['adapter', 'template']);
    const { events } = (await service.call('GET', `/api/jobs/${id}/events`)).body;
    assert.ok(events.some((event: Json) => event.code === 'no_gguf'));
    assert.is((await service.call('GET', `/api/models/${job.model_id}`)).status, 200);
  });
}

test('types that somebody asks for are refused with the reason', async () => {
  const request = quickRequest({ model_name: tinyModel('t5'), export: { quantizations: ['Q4_K_M'] } });
  for (const path of starts) {
    const answer = await service.call('POST', path, request);
    assert.is(answer.status, 400);
    assert.match(
      JSON.stringify(answer.body),
      /llama.cpp cannot run the architecture T5.*Leave \\"export\\" out/,
    );
  }
  const [issue] = (await service.call('POST', starts[0] as string, request)).body.detail;
  assert.equal(issue.loc, ['body', 'export']);
  const { advice } = (await service.call('POST', '/api/estimate', request)).body;
  assert.match(advice.join(' '), 'There can be no GGUF file: llama.cpp cannot run the architecture T5');
});

test.run();
