/** The end of a run is posted to an address: signed, again after a failure, and never in the way of anything. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore, type Store } from '../../../src/db/store.ts';
import { createFrameLog, type FrameLog } from '../../../src/domain/events/frame-log.ts';
import { createEndWebhook, type EndWebhook } from '../../../src/domain/jobs/end-webhook.ts';
import { createJobRecords } from '../../../src/domain/jobs/job-records.ts';
import { root, temporaryFolder } from '../../folders.ts';
import {
  hangs,
  type Received,
  signatureOf,
  startReceiver,
  status,
  type WebhookReceiver,
} from '../../webhook-receiver.ts';

const key = Buffer.alloc(32, 7);
let receiver: WebhookReceiver;
let store: Store;
let frames: FrameLog;
let webhook: EndWebhook;
const warned: object[] = [];

test.before(async () => {
  receiver = await startReceiver('/hook?secret=hidden');
  store = openStore(join(temporaryFolder(), 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  frames = createFrameLog(store, (frame) => webhook.take(frame));
});
test.after(() => {
  webhook.close();
  receiver.close();
  store.close();
});
test.before.each(() => {
  receiver.received.length = 0;
  receiver.answers.length = 0;
  warned.length = 0;
});

function listen(timeoutMs: number, target = { url: receiver.url, key: key as Buffer | null }): void {
  webhook?.close();
  const logger = { warn: (fields: object) => void warned.push(fields) };
  webhook = createEndWebhook({ store, frames, target, timeoutMs, backoffMs: 1, logger });
}
let modelNumber = 0;
/** Stores a job that runs. */
function runs(): number {
  modelNumber += 1;
  return store.jobs.insert({
    ...{ modelId: `model-${modelNumber}`, state: 'running', task: 'text-generation', provider: 'standard' },
    ...{ strategy: 'sft', modelName: 'owner/name', datasetName: 'support.jsonl', displayName: 'nightly' },
    createdAt: '2026-11-21T12:00:00.000Z',
  });
}
const end = (id: number, ...how: [Parameters<ReturnType<typeof createJobRecords>['end']>[1], object?]) =>
  createJobRecords(store, frames).end(id, ...how);
const warnings = (id: number) =>
  store.events.ofJob(id, 'log').map(({ payload }) => payload as { code: string; message: string });
/** Waits for the warning in the events of a run. */
async function warns(id: number): Promise<string> {
  while (warnings(id).length === 0) await new Promise((done) => setTimeout(done, 5));
  assert.equal(
    warnings(id).map(({ code }) => code),
    ['webhook_failed'],
  );
  return warnings(id)[0]?.message ?? '';
}

test('after a 500 the same message is sent again, with a signature that holds', async () => {
  listen(60_000);
  receiver.answers.push(status(500));
  const id = runs();
  end(id, 'completed', { resultMetrics: { final_loss: 0.5 }, endedAt: '2026-11-21T12:04:00.000Z' });
  await receiver.comes(2);
  const [first, second] = receiver.received as [Received, Received];
  assert.is(first.body, second.body);
  assert.is(first.headers['webhook-id'], second.headers['webhook-id']);
  for (const message of [first, second]) {
    assert.is(message.headers['webhook-signature'], signatureOf(message, key));
    assert.is(message.headers['content-type'], 'application/json');
  }
  const { type, timestamp, data } = JSON.parse(first.body);
  assert.equal([type, timestamp], ['run.completed', '2026-11-21T12:04:00.000Z']);
  assert.equal(
    [data.job_id, data.display_name, data.state, data.metrics, data.error],
    [`train_${id}`, 'nightly', 'completed', { final_loss: 0.5 }, null],
  );
  assert.is(data.model_id, `model-${modelNumber}`);
  assert.equal(warnings(id), []);
});

test('a receiver that never answers is given up after five attempts, and the run says so', async () => {
  listen(50);
  receiver.answers.push(hangs, hangs, hangs, hangs, hangs);
  const id = runs();
  end(id, 'failed', {
    errorCode: 'disk_full',
    errorMessage: 'Full.',
    errorAdvice: 'Free some.',
    errorEvidence: 'the log',
  });
  assert.match(
    await warns(id),
    /^The webhook at 127\.0\.0\.1:\d+ .* in 5 attempts: it did not answer for 0\.05 s\.$/,
  );
  for (const { body } of receiver.received) {
    assert.equal(JSON.parse(body).data.error, { code: 'disk_full', message: 'Full.', advice: 'Free some.' });
    assert.not.match(body, 'the log');
  }
  assert.is(store.jobs.get(id)?.state, 'failed');
  assert.not.match(JSON.stringify([warned, warnings(id)]), 'hidden', 'its address may be a secret');
});

test('a redirect is not followed, and a refusal not repeated', async () => {
  listen(60_000);
  for (const [answer, why] of [
    [
      status(302, { location: '/elsewhere' }),
      /: it redirects elsewhere \(302\), which Hone does not follow\.$/,
    ],
    [status(410), /: it answered 410\.$/],
  ] as const) {
    receiver.received.length = 0;
    receiver.answers.push(answer);
    const id = runs();
    end(id, 'stopped');
    assert.match(await warns(id), why);
    assert.equal(
      receiver.received.map(({ path }) => path),
      ['/hook?secret=hidden'],
    );
  }
});

test('without a key nothing is signed, and nothing is sent of runs that go on or are discarded', async () => {
  listen(60_000, { url: receiver.url, key: null });
  const [queued, discarded, told] = [runs(), runs(), runs()];
  createJobRecords(store, frames).move(queued, 'stopping');
  store.jobs.update(discarded, { discardRequested: true });
  end(discarded, 'stopped');
  end(told, 'interrupted', { errorMessage: 'Killed.' });
  await receiver.comes(1);
  assert.equal(
    receiver.received.map(({ headers, body }) => [
      JSON.parse(body).type,
      JSON.parse(body).data.job_id,
      headers['webhook-signature'],
    ]),
    [['run.interrupted', `train_${told}`, undefined]],
  );
});

test('a receiver that is not there is a warning', async () => {
  listen(60_000, { url: 'http://127.0.0.1:9/', key: null });
  const id = runs();
  end(id, 'stopped');
  assert.match(await warns(id), /in 5 attempts: it cannot be reached/);
});

test.run();
