/** Runs in W&B, MLflow and Trackio, installed as a user does: what they have is read back and compared with the journal. */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runHone } from '../cli/run-hone.ts';
import { journalOf } from '../jobs/journal.ts';
import {
  endAll,
  type Json,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';

const names = ['wandb', 'mlflow', 'trackio'] as const;
const dataDir = temporaryFolder();
const hone = (input: string, ...args: string[]) =>
  runHone(['track', ...args], { cwd: dataDir, env: { SERVICE_DATA_DIR: dataDir }, input });

test.before(async () => {
  for (const name of names) {
    const { code, errors } = await hone('', 'add', name);
    assert.is(code, 0, errors);
  }
});
test.after(endAll);

const eventsOf = async (service: TestService, job: string): Promise<Json[]> =>
  (await service.call('GET', `/api/jobs/${job}/events`)).body.events;
const reached = (service: TestService, job: string, state: string) =>
  until(
    async () => (await service.call('GET', `/api/jobs/${job}`)).body.state === state,
    `${job} is ${state}`,
    600_000,
  );
/** Waits until a tracker has passed on the whole journal of a run. */
const isOver = (job: string, name: string) =>
  until(
    () => JSON.parse(readFileSync(join(dataDir, 'jobs', job, `tracker-${name}.json`), 'utf8')).over === true,
    `${name} has ${job}`,
    300_000,
  );

type Found = Record<string, Record<string, number>>;

/** Every figure of a journal, by the names that trackers have. */
function figuresOf(lines: readonly Json[]): Found {
  const found: Found = {};
  const add = (step: number, group: string, values: Json) => {
    for (const [name, value] of Object.entries(values ?? {})) {
      if (typeof value === 'number')
        found[`${group}/${name}`] = { ...found[`${group}/${name}`], [step]: value };
      else if (typeof value === 'object' && !Array.isArray(value) && name !== 'tokens_differ')
        add(step, `${group}/${name}`, value);
    }
  };
  const samples = new Map<number, number>();
  for (const { type, seq: _seq, time: _time, step, ...fields } of lines) {
    if (type === 'metric') {
      const { extra, ...others } = fields;
      add(step, 'train', { ...others, ...extra });
    } else if (type === 'eval') add(step, 'eval', { ...fields.metrics, epoch: fields.epoch });
    else if (type === 'sample') {
      samples.set(step, (samples.get(step) ?? 0) + 1);
      add(step, `sample/${samples.get(step)}`, fields.scores);
    } else if (type === 'done') {
      add(step, 'final', fields.metrics);
      add(step, 'verification', fields.verification);
    }
  }
  return found;
}

const python = join(root, 'trainer', '.venv', 'bin', 'python');
const withPackagesOf = (name: string): NodeJS.ProcessEnv => ({
  ...process.env,
  PYTHONPATH: join(dataDir, 'trackers', name, 'packages'),
});

/** What a tracker has, read with its own library. */
function tracked(name: string, folder = join(dataDir, 'trackers', name, 'runs')): Found {
  const program = join(root, 'test', 'places', 'tracked.py');
  const options = { encoding: 'utf8', env: withPackagesOf(name), maxBuffer: 2 ** 26 } as const;
  const text = execFileSync(python, ['-S', program, name, folder], options);
  return JSON.parse(text.trim().split('\n').at(-1) as string);
}

test('each tracker has every figure of a run, also of one whose service was killed in between', async () => {
  let service = await startService({ dataDir, warm: true });
  await service.upload('support.jsonl', supportRows());
  const { status, body } = await service.call(
    'POST',
    '/api/start_training',
    quickRequest({
      ...{ max_steps: 400, eval_steps: 100, eval_split: 0.2, report_to: names, project: 'mail' },
      golden_prompts: [
        { prompt: 'My parcel has not come.', reference: 'team: shipping' },
        { prompt: 'I want my money back.', reference: 'team: billing' },
      ],
    }),
  );
  assert.is(status, 200, JSON.stringify(body));
  const told = async () =>
    (await eventsOf(service, 'train_1'))
      .filter(({ kind }) => kind === 'tracker')
      .map(({ tracker }) => tracker);
  await until(async () => new Set(await told()).size === names.length, 'all are told of', 300_000);
  await service.end('SIGKILL');
  service = await startService({ dataDir });
  await reached(service, 'train_1', 'completed');
  for (const name of names) await isOver('train_1', name);

  const wanted = figuresOf(journalOf(dataDir, 'train_1'));
  assert.is(Object.keys(wanted['train/loss'] as object).length, 400);
  for (const figure of ['eval/eval_loss', 'final/final_loss', 'verification/mean_kl'])
    assert.ok(wanted[figure] !== undefined, figure);
  for (const name of names) assert.equal(tracked(name), wanted, name);
  const warned = (await eventsOf(service, 'train_1')).filter(({ code }) => code === 'tracker_failed');
  assert.equal(warned, []);
  await service.end();
});

test('servers that cannot be reached are told of, with the key of none, and the run completes', async () => {
  const key = '0123456789abcdef0123456789abcdef01234567';
  for (const name of ['wandb', 'mlflow']) assert.is((await hone(`${key}\n`, 'key', name)).code, 0);
  const away = 'http://127.0.0.1:9';
  const impatient = { WANDB_INIT_TIMEOUT: '5', MLFLOW_HTTP_REQUEST_MAX_RETRIES: '0' };
  const env = { WANDB_BASE_URL: away, MLFLOW_TRACKING_URI: away, ...impatient };
  const service = await startService({ dataDir, env });
  const request = quickRequest({ export: 'none', report_to: ['wandb', 'mlflow'] });
  assert.is((await service.call('POST', '/api/start_training', request)).status, 200);
  await reached(service, 'train_2', 'completed');
  const warned = async () =>
    (await eventsOf(service, 'train_2'))
      .filter(({ code }) => code === 'tracker_failed')
      .map(({ message }) => message as string);
  await until(async () => (await warned()).length === 2, 'both are told of', 300_000);
  const [mlflow = '', wandb = ''] = (await warned()).sort();
  assert.match(mlflow, /^MLflow does not have all figures of this run: /);
  assert.match(wandb, /^Weights & Biases does not have all figures of this run: /);
  assert.not.match(JSON.stringify([await eventsOf(service, 'train_2'), service.log]), key);
  await service.end();
});

test('a server of Trackio has every figure, and the run tells its address without the token', async () => {
  const folder = temporaryFolder();
  const show =
    "import trackio; trackio.show(open_browser=False, host='127.0.0.1', share=False, block_thread=True)";
  const server = spawn(python, ['-S', '-u', '-c', show], {
    env: { ...withPackagesOf('trackio'), TRACKIO_DIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let said = '';
    server.stdout.on('data', (chunk) => {
      said += chunk;
    });
    const address = () => /(http:\S+)\?write_token=\S+/.exec(said);
    await until(() => address() !== null, 'the server has started', 120_000);
    const [whole, url] = address() as unknown as [string, string];
    const service = await startService({ dataDir, env: { TRACKIO_SERVER_URL: whole } });
    const request = quickRequest({ export: 'none', report_to: ['trackio'] });
    const { status, body } = await service.call('POST', '/api/start_training', request);
    assert.is(status, 200, JSON.stringify(body));
    await reached(service, body.job_id, 'completed');
    await isOver(body.job_id, 'trackio');
    const events = await eventsOf(service, body.job_id);
    assert.equal(
      events.filter(({ kind }) => kind === 'tracker').map((event) => event.url),
      [url],
    );
    assert.not.match(JSON.stringify([events, service.log]), 'write_token');
    assert.equal(tracked('trackio', folder), figuresOf(journalOf(dataDir, body.job_id)));
  } finally {
    server.kill();
  }
});

test.run();
