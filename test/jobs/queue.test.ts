import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  temporaryFolder,
  until,
  untilEnded,
} from '../service.ts';

test.after(endAll);

test('jobs that may wait run one after another, in order, also across a killed server; one can be taken out', async () => {
  const dataDir = temporaryFolder();
  let service = await startService({ dataDir, warm: true });
  await service.upload('support.jsonl', supportRows());
  const start = (changes: object) =>
    service.call('POST', '/api/start_training', quickRequest({ export: 'none', ...changes }));
  assert.is((await start({ max_steps: 4_000 })).status, 200);
  assert.is((await start({ max_steps: 2 })).status, 409);
  const waiting = await start({ max_steps: 2, queue: true });
  assert.is(waiting.status, 200);
  assert.match(waiting.body.message, 'waits');
  await start({ max_steps: 3, queue: true });
  await start({ max_steps: 4, queue: true });
  const states = async () =>
    (await service.call('GET', '/api/jobs')).body.jobs.map((job: Json) => job.state).reverse();
  assert.equal((await states()).slice(1), ['queued', 'queued', 'queued']);
  assert.is((await service.call('POST', '/api/jobs/train_3/stop')).body.state, 'stopped');
  assert.is((await service.call('POST', '/api/jobs/train_3/stop')).status, 409);

  await service.end('SIGKILL');
  service = await startService({ dataDir });
  assert.equal((await states()).slice(1), ['queued', 'stopped', 'queued']);
  assert.is((await service.call('POST', '/api/stop_training')).status, 200);
  await until(async () => (await states())[3] === 'completed', 'the last one has run');
  assert.is((await untilEnded(service)).status, 'completed');
  assert.equal(await states(), ['stopped', 'completed', 'stopped', 'completed']);
  const { jobs } = (await service.call('GET', '/api/jobs?state=completed')).body;
  assert.ok(jobs[1].ended_at <= jobs[0].started_at, 'one after another');
});

test.run();
