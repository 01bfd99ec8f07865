/** A service tells an address how its runs end: signed, again after a failure, and without waiting for it. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { letGo, littleInstallation } from '../jobs/little-installation.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  tinyModel,
  until,
} from '../service.ts';
import { hangs, signatureOf, startReceiver, status, type WebhookReceiver } from '../webhook-receiver.ts';
import { closeBrowser, openPage, sees } from './browser.ts';

const key = Buffer.alloc(32, 9);
let receiver: WebhookReceiver;
let service: TestService;

async function startWith(env: NodeJS.ProcessEnv, webhookTimeoutMs = 60_000): Promise<void> {
  const address = {
    SERVICE_WEBHOOK_URL: receiver.url,
    SERVICE_WEBHOOK_SECRET: `whsec_${key.toString('base64')}`,
  };
  const limits = { webhookTimeoutMs, webhookBackoffMs: 1 };
  service = await startService({ env: { ...env, ...address }, limits });
  await service.upload('support.jsonl', supportRows());
}
async function train(changes: object = {}): Promise<void> {
  const request = quickRequest({ export: 'none', ...changes });
  const { status: code, body } = await service.call('POST', '/api/start_training', request);
  assert.is(code, 200, JSON.stringify(body));
}
const told = () => receiver.received.map(({ body }) => JSON.parse(body));
const warnings = async (): Promise<string[]> =>
  (await service.call('GET', '/api/jobs/train_1/events')).body.events
    .filter(({ code }: Json) => code === 'webhook_failed')
    .map(({ message }: Json) => message);

test.before(async () => {
  receiver = await startReceiver('/hook?token=sesame');
});
test.after(async () => {
  receiver.close();
  await closeBrowser();
  await endAll();
});
test.before.each(() => {
  receiver.received.length = 0;
  receiver.answers.length = 0;
});

test('a run that fails and then completes is told of twice, signed, and again after a 500', async () => {
  await startWith(littleInstallation('story'));
  receiver.answers.push(status(500));
  await train();
  await receiver.comes(2);
  const resumed = await service.call('POST', '/api/jobs/train_1/resume');
  assert.is(resumed.status, 200, JSON.stringify(resumed.body));
  letGo(join(service.dataDir, 'jobs', 'train_1'));
  await receiver.comes(3);
  const [first, again, last] = told();
  assert.equal(again, first);
  const { error, ...failed } = first.data;
  assert.equal([first.type, failed.job_id, failed.state], ['run.failed', 'train_1', 'failed']);
  assert.equal(error, { code: 'disk_full', message: 'The disk is full.', advice: 'Free some.' });
  const [{ model_id: modelId }] = (await service.call('GET', '/api/models/')).body;
  assert.equal([last.type, last.data.model_id, last.data.error], ['run.completed', modelId, null]);
  const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
  assert.ok(ids[0] === ids[1] && ids[1] !== ids[2], 'an attempt keeps its message’s ID');
  for (const message of receiver.received)
    assert.is(message.headers['webhook-signature'], signatureOf(message, key));
  assert.equal(await warnings(), []);
  await service.end();
});

test('an evaluation is not told of', async () => {
  await startWith(littleInstallation('polite'));
  const asked = { dataset: 'support.jsonl', base_model: tinyModel('llama'), rows: 2 };
  assert.is((await service.call('POST', '/api/evaluations', asked)).status, 200);
  const read = async () => (await service.call('GET', '/api/evaluations/eval_1')).body;
  await until(async () => (await read()).progress === 0.5, 'it runs', 300_000);
  letGo(join(service.dataDir, 'evaluations', 'eval_1'), 'fail');
  await until(async () => (await read()).state === 'failed', 'it has failed', 300_000);
  // A run that ends afterwards is the first that is told of.
  await train();
  const state = async () => (await service.call('GET', '/api/jobs/train_1')).body.state;
  await until(async () => (await state()) === 'running', 'it runs', 300_000);
  assert.is((await service.call('POST', '/api/stop_training')).status, 200);
  await receiver.comes(1);
  assert.equal(
    told().map(({ type }) => type),
    ['run.stopped'],
  );
  await service.end();
});

test('while a receiver never answers, the next run goes on, and the page tells what was not received', async () => {
  await startWith({ ...littleInstallation('evaluates'), HONE_TEST_PACE_MS: '1' }, 500);
  // Every attempt for both runs.
  receiver.answers.push(...Array(10).fill(hangs));
  await train();
  await receiver.comes(1);
  await train();
  const state = async (job: string) => (await service.call('GET', `/api/jobs/${job}`)).body.state;
  await until(async () => (await state('train_2')) === 'completed', 'the second has completed', 300_000);
  await until(async () => (await warnings()).length === 1, 'it is given up', 300_000);
  const warning = (await warnings())[0] as string;
  const said = /^The webhook at 127\.0\.0\.1:\d+ was not told of the end of this run in 5 attempts: .*$/;
  assert.match(warning, said);
  const { page, context, faults } = await openPage(service.url, '/training/train_1?view=events');
  await sees(page, warning);
  assert.not.match(
    JSON.stringify([await page.content(), service.log]),
    'sesame',
    'the address may be a secret',
  );
  assert.equal(faults, []);
  await context.close();
});

test.run();
