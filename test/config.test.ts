import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../src/config.ts';
import { allowedEnvironment, childVariables } from '../src/contract/child-environment.ts';
import { downloadSecrets, trainerEnvironment } from '../src/trainer/processes/supervisor.ts';
import { temporaryFolder } from './folders.ts';

const empty = temporaryFolder();

test('the defaults are those of the specification', () => {
  const config = readConfig([], { XDG_DATA_HOME: '/data' }, empty);
  assert.is(config.verb, 'serve');
  assert.is(config.port, 8000);
  assert.is(config.host, '0.0.0.0');
  assert.is(config.parallel, 1);
  assert.is(config.hubEndpoint, 'https://huggingface.co');
  assert.is(config.hubToken, null);
  assert.ok(Object.isFrozen(config));
  if (process.platform === 'linux') {
    assert.is(config.dataDir, '/data/hone');
    assert.is(config.databasePath, '/data/hone/database/hone.sqlite');
    assert.is(config.modelsDir, '/data/hone/model_checkpoints');
    assert.is(config.logsDir, '/data/hone/training_logs');
  }
});

test('flags and variables are heeded', () => {
  const env = {
    SERVICE_DATA_DIR: 'here',
    SERVICE_DB_PATH: '/db.sqlite',
    SERVICE_DISABLE_TENSORBOARD: '1',
    SERVICE_DEFAULT_BATCH_SIZE: '3',
    SERVICE_PARALLEL: '4',
    HF_HUB_OFFLINE: 'true',
    HF_ENDPOINT: 'http://hub/',
    SERVICE_WEBHOOK_URL: 'https://chat/hook',
    SERVICE_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  };
  const config = readConfig(
    ['stop', '--port', '9000', '--host', '127.0.0.1', '--log-level', 'debug'],
    env,
    empty,
  );
  assert.is(config.verb, 'stop');
  assert.equal([config.port, config.host, config.logLevel], [9000, '127.0.0.1', 'debug']);
  assert.is(config.dataDir, join(empty, 'here'));
  assert.is(config.databasePath, '/db.sqlite');
  assert.is(config.logsDir, null);
  assert.is(config.defaultBatchSize, 3);
  assert.is(config.parallel, 4);
  assert.is(config.cluster, null);
  assert.equal(readConfig(['--cluster', 'head:6379'], env, empty).cluster, {
    address: 'head:6379',
    tokenPath: join(empty, 'here', 'cluster', 'token'),
  });
  assert.equal(
    readConfig(['cluster', 'start'], {}, empty).host,
    '127.0.0.1',
    'a cluster is local unless told',
  );
  assert.is(readConfig(['--parallel', '2'], env, empty).parallel, 2, 'the flag wins');
  assert.is(config.hubOffline, true);
  assert.is(config.hubEndpoint, 'http://hub');
  assert.equal(config.webhook, { url: 'https://chat/hook', key: Buffer.alloc(32, 7) });
});

test('what is wrong is said in a sentence', () => {
  for (const [args, env, words] of [
    [['--port', '70000'], {}, '--port must be an integer from 0 to 65535'],
    [['--port', '8k'], {}, '--port'],
    [['--log-level', 'loud'], {}, 'trace, debug, info'],
    [['dance'], {}, 'serve, stop, key, judge-key, track, mask, import, cluster, join, mcp, doctor, report'],
    [['--cluster', 'head'], {}, '--cluster must be HOST:PORT'],
    [[], { SERVICE_CLUSTER: 'http://head:1' }, '--cluster must be HOST:PORT'],
    [['stop', 'now'], {}, 'One command at a time'],
    [['import', 'openai', '--list=1'], {}, '--list'],
    [['key', 'add', 'a', '--scope', 'half'], {}, '--scope must be one of full, train, inference'],
    [
      ['key', 'add', 'a', '--scope', 'train', '--budget', 'hours=1'],
      {},
      '--budget must be one of runs, minutes',
    ],
    [['key', 'add', 'a', '--scope', 'train', '--budget', 'runs=none'], {}, '--budget runs must be a number'],
    [['--colour'], {}, '--colour'],
    [['--parallel', '0'], {}, '--parallel must be an integer from 1 to 64'],
    [[], { SERVICE_WEBHOOK_URL: 'ftp://a' }, 'SERVICE_WEBHOOK_URL must be an http://'],
    [[], { SERVICE_WEBHOOK_URL: 'http://me:pass@a' }, 'without a user name and password'],
    [
      [],
      { SERVICE_WEBHOOK_URL: 'http://a', SERVICE_WEBHOOK_SECRET: 'short' },
      'SERVICE_WEBHOOK_SECRET must be',
    ],
    [[], { SERVICE_PARALLEL: 'two' }, 'SERVICE_PARALLEL must be an integer'],
    [[], { SERVICE_DEFAULT_BATCH_SIZE: '0' }, 'SERVICE_DEFAULT_BATCH_SIZE'],
  ] as const) {
    assert.throws(
      () => readConfig(args, env, empty),
      (error: Error) => error.message.includes(words),
    );
  }
});

test('the token has three names, and .env of the working directory is read below the environment', () => {
  for (const name of ['HUB_TOKEN', 'HF_TOKEN', 'HUGGINGFACE_TOKEN']) {
    assert.is(readConfig([], { [name]: 'hf_x' }, empty).hubToken, 'hf_x');
  }
  const folder = temporaryFolder();
  writeFileSync(join(folder, '.env'), 'HUB_TOKEN="hf_file"\nHF_ENDPOINT=http://file\n');
  const config = readConfig([], { HF_ENDPOINT: 'http://shell' }, folder);
  assert.is(config.hubToken, 'hf_file');
  assert.is(config.hubEndpoint, 'http://shell');
});

/** Secrets of the service and of other programs of its user. */
const secrets = {
  HUB_TOKEN: 'secret-1',
  HF_TOKEN: 'secret-2',
  HF_TOKEN_PATH: '/secret-3',
  HONE_ACCESS_KEY: 'secret-4',
  AWS_ACCESS_KEY_ID: 'secret-5',
  AWS_SECRET_ACCESS_KEY: 'secret-6',
  DATABASE_URL: 'postgres://secret-7',
  NVIDIA_API_KEY: 'secret-8',
  MY_PASSWORD: 'secret-9',
  SSH_AUTH_SOCK: '/secret-10',
  PGPASSFILE: '/secret-11',
  HONE_DATABASE: 'secret-12',
  PYTHONSTARTUP: '/secret-13',
};

test('a folder named .env is left alone; a .env that cannot be read is told', () => {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, '.env'));
  assert.is(readConfig([], {}, cwd).hubToken, null);
  rmSync(join(cwd, '.env'), { recursive: true });
  // A loop of links cannot be read, whoever asks.
  symlinkSync('.env', join(cwd, '.env'));
  assert.throws(() => readConfig([], {}, cwd), /\.env cannot be read \(ELOOP\)/);
});

test('a trainer is given only the variables that it needs, and the token only when it downloads', () => {
  const needed = {
    PATH: '/bin',
    HOME: '/home/ada',
    LANG: 'C.UTF-8',
    LD_LIBRARY_PATH: '/usr/lib/cuda',
    CUDA_VISIBLE_DEVICES: '0',
    NVIDIA_TF32_OVERRIDE: '0',
    PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True',
    OMP_NUM_THREADS: '1',
    HF_HOME: '/cache',
    HF_ENDPOINT: 'http://hub',
    HF_HUB_OFFLINE: '1',
    HONE_PLAIN: '1',
    SystemRoot: 'C:\\Windows',
    XDG_CACHE_HOME: '/home/ada/.cache',
  };
  const command = { pythonPath: 'python', installDir: '/install', environment: { ...needed, ...secrets } };
  const without = trainerEnvironment(command, null);
  for (const [name, value] of Object.entries(needed)) assert.is(without[name], value, name);
  assert.is(without.PYTHONPATH, '/install');
  const known = new Set([
    ...Object.keys(needed),
    ...Object.keys(trainerEnvironment({ ...command, environment: {} }, null)),
  ]);
  assert.equal(
    Object.keys(without).filter((name) => !known.has(name)),
    [],
  );
  assert.is(downloadSecrets(command, null), null);
  const behindProxy = { ...command, environment: { ...command.environment, https_proxy: 'http://a:b@c' } };
  assert.is(trainerEnvironment(behindProxy, null).https_proxy, undefined);
  const downloading = trainerEnvironment(behindProxy, downloadSecrets(behindProxy, 'hf_x'));
  assert.is(downloading.HF_TOKEN, 'hf_x');
  assert.is(downloading.https_proxy, 'http://a:b@c');
  assert.not.match(JSON.stringify(downloading), 'secret-');
});

test('a process that runs models gets no secrets and no hub settings', () => {
  const needed = { PATH: '/bin', Path: 'C:\\bin', GGML_METAL_PATH: '/m', CUDA_VISIBLE_DEVICES: '0' };
  const environment = { ...needed, ...secrets, HF_HOME: '/cache', HTTPS_PROXY: 'http://ada:secret@proxy' };
  assert.equal(allowedEnvironment(environment, childVariables.engine), needed);
});

test.run();
