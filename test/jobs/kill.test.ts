import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomFrom, seed } from '../random.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  temporaryFolder,
  trainersOf,
  until,
  untilEnded,
} from '../service.ts';
import { journalOf, stepsOf, upTo } from './journal.ts';

/** `npm run test:long` sets more kills. */
const kills = Number(process.env.HONE_COUNT ?? 3);

test.after(endAll);

test(`kill -9 of the server, ${kills} times at random moments (seed ${seed}): the same run goes on to its model`, async () => {
  const dataDir = temporaryFolder();
  const random = randomFrom(seed);
  const steps = 300;
  let service = await startService({ dataDir });
  await service.upload('support.jsonl', supportRows());
  let jobs = 0;
  let status: Json = null;
  for (let kill = 0; kill < kills; kill += 1) {
    if (status?.status !== 'running') {
      const start = await service.call('POST', '/api/start_training', quickRequest({ max_steps: steps }));
      assert.is(start.status, 200, JSON.stringify(start.body));
      jobs += 1;
    }
    await sleep(50 + random() * 3_000);
    await service.end('SIGKILL');
    await sleep(random() * 1_000);
    assert.ok(trainersOf(dataDir).length <= 1);
    service = await startService({ dataDir });
    status = (await service.call('GET', '/api/finetune/status')).body;
    assert.ok(['running', 'completed'].includes(status.status), JSON.stringify(status));
  }
  assert.is((await untilEnded(service)).status, 'completed');
  for (let job = 1; job <= jobs; job += 1) {
    const journal = journalOf(dataDir, `train_${job}`);
    assert.is(journal.filter((line) => line.type === 'hello').length, 1, 'one trainer');
    assert.equal(
      journal.filter((line) => line.type === 'metric').map((line) => line.step),
      upTo(steps),
      'no step repeated',
    );
    assert.equal(await stepsOf(service, `train_${job}`), upTo(steps), 'no metric lost');
  }
  assert.is((await service.call('GET', '/api/models')).body.models.length, jobs);
  await until(() => trainersOf(dataDir).length === 0, 'no trainer is left');
});

test.run();
