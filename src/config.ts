import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { homedir, hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parse as parseDotenv } from 'dotenv';
import {
  type AccessMode,
  accessModes,
  type Budget,
  budgetFigureNames,
  type KeyScope,
  keyScopeNames,
} from './contract/access.ts';
import { AppError } from './errors.ts';

const verbs = [
  'serve',
  'stop',
  'key',
  'judge-key',
  'track',
  'mask',
  'import',
  'cluster',
  'join',
  'mcp',
  'doctor',
  'report',
] as const;
export type Verb = (typeof verbs)[number];
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
/** The HTTP engines (`src/http/engines`). */
const httpEngines = ['uws', 'node'] as const;
export type LogLevel = (typeof logLevels)[number];

/** A Ray cluster's head as `HOST:PORT`, and the file that contains its token. */
export interface ClusterAddress {
  readonly address: string;
  readonly tokenPath: string;
}

/** The configuration from flags and environment, read once and frozen. Paths are absolute. */
export interface Config {
  readonly verb: Verb;
  /** What follows the verbs `key`, `track`, `mask`, `import`, `cluster`, `join` and `report`. */
  readonly operands: readonly string[];
  /** The scope of a key that is added. */
  readonly keyScope: KeyScope;
  /** The budget of a key that is added; `null` for none. */
  readonly keyBudget: Budget | null;
  /** Whether the answers to the requests of a key that is added are kept. */
  readonly keyRecording: boolean;
  /** Whether `import` lists instead of moving. */
  readonly listOnly: boolean;
  /** Whether `doctor` prints JSON. */
  readonly json: boolean;
  readonly host: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
  readonly logLevel: LogLevel;
  /** Allowed host names besides localhost, IP addresses and this machine's own. */
  readonly allowedHosts: readonly string[];
  /** Origins of pages elsewhere that may use the service from a browser. */
  readonly allowedOrigins: readonly string[];
  /** Who needs a key. */
  readonly access: AccessMode;
  /** A key that is not in the database; never printed or stored. */
  readonly accessKey: string | null;
  /** IP addresses of proxies whose word on their clients is believed. */
  readonly trustedProxies: readonly string[];
  /** Folders that clients on other machines may name, besides the data and cache folders. */
  readonly allowedPaths: readonly string[];
  /** The files of a certificate and its key, in PEM format; `null` serves plain HTTP. */
  readonly tls: { readonly certPath: string; readonly keyPath: string } | null;
  readonly dataDir: string;
  /** The cluster's files on this machine: its token, and what its node keeps. */
  readonly clusterDir: string;
  /** Where runs with several workers train; `null` for this machine. */
  readonly cluster: ClusterAddress | null;
  /** The token of another machine's cluster; `null` if none was given. */
  readonly clusterToken: string | null;
  /** Files that can be recreated, such as the demo's starter model. */
  readonly cacheDir: string;
  readonly databasePath: string;
  readonly datasetsDir: string;
  readonly modelsDir: string;
  readonly logsDir: string | null;
  readonly jobsDir: string;
  readonly evaluationsDir: string;
  /** The base models that trained models share, as GGUF files. */
  readonly basesDir: string;
  readonly defaultBatchSize: number | null;
  /** The most trainings at once. */
  readonly parallel: number;
  /** How long answers are kept that clients want to be kept, and how much of them. */
  readonly answers: { readonly keepMs: number; readonly keepBytes: number };
  /** Their database. */
  readonly answersPath: string;
  /** Who is told when runs end, and the key that signs it; never printed. */
  readonly webhook: { readonly url: string; readonly key: Buffer | null } | null;
  /** `null` for the best one that works. */
  readonly httpEngine: (typeof httpEngines)[number] | null;
  /** Never printed or stored, and passed only to a trainer that downloads. */
  readonly hubToken: string | null;
  readonly hubEndpoint: string;
  /** Where fine-tuning files and jobs are moved from. */
  readonly openAiBaseUrl: string;
  readonly hubOffline: boolean;
  /** The environment with the additions of `.env`; trainers get it without secrets. */
  readonly environment: NodeJS.ProcessEnv;
  /** The installation folder, which contains package.json. */
  readonly installDir: string;
  readonly pythonPath: string;
  readonly converterDir: string;
  readonly limits: Limits;
}

const dayMs = 24 * 3_600_000;
/** Far more trainings at once than a machine has devices for. */
const maxParallel = 64;

/** Limits and timeouts; tests set shorter ones with `HONE_TEST_LIMITS`. */
export interface Limits {
  readonly uploadBytes: number;
  /** The most bytes of a dataset that an import makes, and of what a compressed source expands to. */
  readonly importBytes: number;
  readonly jsonBytes: number;
  /** How long to wait after a stop request before SIGTERM. */
  readonly stopAskMs: number;
  readonly stopTermMs: number;
  /** A trainer whose heartbeat is older is stalled. */
  readonly heartbeatMs: number;
  /** How long a finished trainer may keep running before its group is killed. */
  readonly lingerMs: number;
  readonly shutdownMs: number;
  readonly playgroundIdleMs: number;
  /** A model's process that gives no sign of life for this long during a request is killed. */
  readonly engineSilenceMs: number;
  /** A model's process that answers, but makes no progress with a request for this long, is killed. */
  readonly engineStallMs: number;
  /** How long a warm trainer waits for a job; 0 disables it. */
  readonly warmTrainerIdleMs: number;
  /** A quantization that reports no progress for this long hangs, and is ended. */
  readonly quantizeSilenceMs: number;
  /** How long a preview of rows may take. */
  readonly previewMs: number;
  /** Timeouts for the model hub: silence, first wait between attempts, all waits of one request. */
  readonly hubTimeoutMs: number;
  readonly hubBackoffMs: number;
  readonly hubWaitMs: number;
  /** The same of requests to OpenAI, whose rates are limited by the minute. */
  readonly moveBackoffMs: number;
  readonly moveWaitMs: number;
  /** How long a webhook's receiver may take, and the first wait between attempts. */
  readonly webhookTimeoutMs: number;
  readonly webhookBackoffMs: number;
  /** Of an answer of another service's model: until it begins, between its parts, its length, and how many at once. */
  readonly remoteFirstByteMs: number;
  readonly remoteSilenceMs: number;
  readonly remoteAnswerBytes: number;
  readonly remoteAtOnce: number;
  /** A document: its file, the time that it takes to read, and the characters of its text and of all documents. */
  readonly documentBytes: number;
  readonly documentMs: number;
  readonly documentCharacters: number;
  readonly allDocumentsCharacters: number;
  /** The first wait before a model that failed is asked again for rows. */
  readonly rowBackoffMs: number;
  /** How long a tracker may take after the end of a run. */
  readonly trackerEndMs: number;
  /** The most trainings that wait in the queue. */
  readonly queuedJobs: number;
  /** The most evals of OpenAI's API, and the most files of rows for them. */
  readonly evals: number;
  readonly evalFiles: number;
  /** The most requests to one model at a time, running and waiting. */
  readonly pendingAnswers: number;
  /** The most uploads at once; each takes about 5 MB of memory. */
  readonly uploadsAtOnce: number;
  /** The least time between two backups of the database. */
  readonly backupEveryMs: number;
  /** The time between two deletions of what has expired. */
  readonly tidyMs: number;
  /** The time between two looks at runs whose key has a budget. */
  readonly budgetMs: number;
  /** How long the bin keeps what was deleted. */
  readonly binMs: number;
  /** The most bytes in the bin; `null` for a quarter of the disk. */
  readonly binBytes: number | null;
}

const defaultLimits: Limits = {
  uploadBytes: 500 * 2 ** 20,
  importBytes: 16 * 2 ** 30,
  jsonBytes: 2 ** 21,
  stopAskMs: 120_000,
  stopTermMs: 60_000,
  heartbeatMs: 600_000,
  lingerMs: 30_000,
  shutdownMs: 4_000,
  playgroundIdleMs: 600_000,
  engineSilenceMs: 60_000,
  // One step evaluates 512 tokens of a prompt, which takes minutes for the largest models on a CPU.
  engineStallMs: 900_000,
  warmTrainerIdleMs: 600_000,
  // The largest tensor of a large model takes minutes on one thread.
  quantizeSilenceMs: 1_800_000,
  previewMs: 120_000,
  hubTimeoutMs: 20_000,
  hubBackoffMs: 500,
  hubWaitMs: 30_000,
  moveBackoffMs: 500,
  moveWaitMs: 300_000,
  webhookTimeoutMs: 10_000,
  webhookBackoffMs: 5_000,
  // Fetch itself gives up after 300 s.
  remoteFirstByteMs: 280_000,
  remoteSilenceMs: 120_000,
  remoteAnswerBytes: 32 * 2 ** 20,
  remoteAtOnce: 64,
  documentBytes: 100 * 2 ** 20,
  documentMs: 300_000,
  documentCharacters: 20e6,
  // They are in the database, of which backups are made.
  allDocumentsCharacters: 100e6,
  rowBackoffMs: 2_000,
  trackerEndMs: 600_000,
  queuedJobs: 50,
  evals: 1000,
  evalFiles: 1000,
  pendingAnswers: 64,
  uploadsAtOnce: 32,
  backupEveryMs: 3_600_000,
  tidyMs: 3_600_000,
  budgetMs: 1_000,
  binMs: 7 * dayMs,
  // It gives way where the disk is short, so only the time that deletions take argues for less.
  binBytes: null,
};

/** @throws AppError `invalid` unless the text is like `minutes=60,runs=3`. */
function budget(text: string): Budget {
  const parts = text.split(',').map((part) => part.split('='));
  const numbers = parts.map(([name = '', value = '']) => {
    const figure = oneOf('--budget', name.trim(), budgetFigureNames);
    if (!(Number(value) > 0))
      throw new AppError('invalid', `--budget ${figure} must be a number greater than 0, not "${value}".`);
    return [figure, Number(value)];
  });
  return Object.fromEntries(numbers);
}

/** The platform's per-user data directory (XDG Base Directory Specification on Linux). */
function platformDataDir(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'hone');
  if (platform === 'win32') return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'hone');
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'hone');
}

/** The platform's per-user cache directory. */
export function platformCacheDir(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  if (platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'hone');
  if (platform === 'win32')
    return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'hone', 'cache');
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'hone');
}

function integer(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new AppError('invalid', `${name} must be an integer from ${min} to ${max}, not "${text}".`);
  }
  return value;
}

function oneOf<T extends string>(name: string, text: string, allowed: readonly T[]): T {
  if (!(allowed as readonly string[]).includes(text)) {
    throw new AppError('invalid', `${name} must be one of ${allowed.join(', ')}, not "${text}".`);
  }
  return text as T;
}

/** The flag wins. */
const accessMode = (flag: string | undefined, variable: string | undefined): AccessMode =>
  flag === undefined
    ? oneOf('HONE_ACCESS', variable || 'auto', accessModes)
    : oneOf('--access', flag, accessModes);

/** So long that it cannot be guessed. */
const leastKeyLength = 32;

function accessKey(text: string | undefined): string | null {
  if (!text) return null;
  if (text.length >= leastKeyLength && /^[!-~]+$/.test(text)) return text;
  throw new AppError(
    'invalid',
    `HONE_ACCESS_KEY must have at least ${leastKeyLength} characters, all of them visible ASCII characters. Make one with: openssl rand -hex 32`,
  );
}

/** The secrets of Standard Webhooks: `whsec_` and 24 to 64 bytes in Base64. */
const secretPattern = /^whsec_([A-Za-z0-9+/]{32,86}={0,2})$/;

function webhook(url: string | undefined, secret: string | undefined): Config['webhook'] {
  if (!url) return null;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  // The address may contain a secret, and is not repeated.
  if (!/^https?:$/.test(parsed?.protocol ?? '') || parsed?.username || parsed?.password) {
    throw new AppError(
      'invalid',
      'SERVICE_WEBHOOK_URL must be an http:// or https:// address without a user name and password.',
    );
  }
  const encoded = secretPattern.exec(secret ?? '')?.[1];
  if (secret && encoded === undefined) {
    throw new AppError(
      'invalid',
      'SERVICE_WEBHOOK_SECRET must be "whsec_" followed by 24 to 64 bytes in Base64. Make one with: echo "whsec_$(openssl rand -base64 32)"',
    );
  }
  return { url, key: encoded === undefined ? null : Buffer.from(encoded, 'base64') };
}

function ipAddress(name: string, text: string): string {
  if (isIP(text) !== 0) return text;
  throw new AppError('invalid', `${name} must be an IP address such as 127.0.0.1, not "${text}".`);
}

/** `HOST:PORT` of a cluster's head. */
export function hostAndPort(name: string, text: string): string {
  if (/^[^\s:/]+:\d{1,5}$/.test(text)) return text;
  throw new AppError('invalid', `${name} must be HOST:PORT such as 192.168.1.5:6379, not "${text}".`);
}

function clusterAddress(text: string | undefined, dataDir: string): ClusterAddress | null {
  if (!text) return null;
  return {
    address: hostAndPort('--cluster', text),
    tokenPath: join(dataDir, 'cluster', 'token'),
  };
}

/** @throws AppError `invalid` unless it is one origin (RFC 6454): `*` and `null` would let in every page there is. */
function origin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && url.origin !== 'null' && (url.origin === text || `${url.origin}/` === text))
    return url.origin;
  throw new AppError(
    'invalid',
    `--allow-origin must be an origin such as https://app.example or http://localhost:5173, not "${text}".`,
  );
}

function tlsFiles(cwd: string, cert: string | undefined, key: string | undefined): Config['tls'] {
  if (cert === undefined && key === undefined) return null;
  if (cert !== undefined && key !== undefined) {
    return { certPath: resolve(cwd, cert), keyPath: resolve(cwd, key) };
  }
  throw new AppError('invalid', 'TLS needs both --tls-cert FILE and --tls-key FILE.');
}

/** The variables of a `.env` file. A folder of that name is another tool's, such as a Python environment. */
function readDotenv(path: string): Record<string, string> {
  try {
    return parseDotenv(readFileSync(path));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EISDIR') return {};
    throw new AppError(
      'invalid',
      `${path} cannot be read (${code}). Correct its permissions, or remove it.`,
      {
        cause,
      },
    );
  }
}

/**
 * Reads flags, environment and the `.env` file of the working directory (the environment wins).
 * @throws AppError `invalid` with a message for the terminal.
 */
export function readConfig(argv: readonly string[], environment: NodeJS.ProcessEnv, cwd: string): Config {
  const env: NodeJS.ProcessEnv = {
    ...readDotenv(join(cwd, '.env')),
    ...environment,
  };
  let parsed: ReturnType<typeof parseFlags>;
  try {
    parsed = parseFlags(argv);
  } catch (error) {
    throw new AppError('invalid', (error as Error).message, { cause: error });
  }
  const { values, positionals } = parsed;
  const verb = oneOf('The command', positionals[0] ?? 'serve', verbs);
  if (positionals.length > 1 && ['serve', 'stop', 'mcp', 'doctor'].includes(verb)) {
    throw new AppError('invalid', `One command at a time: got "${positionals.join(' ')}".`);
  }
  const installDir = resolve(env.HONE_INSTALL_DIR ?? dirname(dirname(fileURLToPath(import.meta.url))));
  const dataDir = resolve(cwd, env.SERVICE_DATA_DIR || platformDataDir(env, process.platform));
  const venvPython = process.platform === 'win32' ? ['Scripts', 'python.exe'] : (['bin', 'python'] as const);
  return Object.freeze({
    verb,
    operands: positionals.slice(1),
    listOnly: values.list,
    json: values.json,
    keyScope: oneOf('--scope', values.scope, keyScopeNames),
    keyBudget: values.budget === undefined ? null : budget(values.budget),
    keyRecording: values.record,
    host: values.host ?? (verb === 'cluster' ? '127.0.0.1' : '0.0.0.0'),
    port: integer('--port', values.port ?? (verb === 'cluster' ? '6379' : '8000'), 0, 65_535),
    logLevel: oneOf('--log-level', values['log-level'], logLevels),
    allowedHosts: [hostname(), `${hostname()}.local`, ...values['allowed-host']].map((h) => h.toLowerCase()),
    allowedOrigins: values['allow-origin'].map(origin),
    access: accessMode(values.access, env.HONE_ACCESS),
    accessKey: accessKey(env.HONE_ACCESS_KEY),
    trustedProxies: values['trusted-proxy'].map((text) => ipAddress('--trusted-proxy', text)),
    allowedPaths: values['allow-path'].map((path) => resolve(cwd, path)),
    tls: tlsFiles(cwd, values['tls-cert'], values['tls-key']),
    dataDir,
    clusterDir: join(dataDir, 'cluster'),
    cluster: clusterAddress(values.cluster ?? env.SERVICE_CLUSTER, dataDir),
    clusterToken: env.SERVICE_CLUSTER_TOKEN || null,
    cacheDir: platformCacheDir(env, process.platform),
    databasePath: resolve(cwd, env.SERVICE_DB_PATH || join(dataDir, 'database', 'hone.sqlite')),
    datasetsDir: join(dataDir, 'datasets'),
    modelsDir: join(dataDir, 'model_checkpoints'),
    logsDir: env.SERVICE_DISABLE_TENSORBOARD === '1' ? null : join(dataDir, 'training_logs'),
    jobsDir: join(dataDir, 'jobs'),
    evaluationsDir: join(dataDir, 'evaluations'),
    basesDir: join(dataDir, 'bases'),
    defaultBatchSize: env.SERVICE_DEFAULT_BATCH_SIZE
      ? integer('SERVICE_DEFAULT_BATCH_SIZE', env.SERVICE_DEFAULT_BATCH_SIZE, 1, 1024)
      : null,
    parallel:
      values.parallel === undefined
        ? integer('SERVICE_PARALLEL', env.SERVICE_PARALLEL || '1', 1, maxParallel)
        : integer('--parallel', values.parallel, 1, maxParallel),
    answers: {
      keepMs: integer('HONE_ANSWERS_DAYS', env.HONE_ANSWERS_DAYS || '30', 1, 36_500) * dayMs,
      keepBytes: integer('HONE_ANSWERS_MB', env.HONE_ANSWERS_MB || '1024', 1, 1_048_576) * 2 ** 20,
    },
    answersPath: join(dataDir, 'answers', 'answers.sqlite'),
    webhook: webhook(env.SERVICE_WEBHOOK_URL, env.SERVICE_WEBHOOK_SECRET),
    httpEngine: env.HONE_HTTP ? oneOf('HONE_HTTP', env.HONE_HTTP, httpEngines) : null,
    hubToken: env.HUB_TOKEN || env.HF_TOKEN || env.HUGGINGFACE_TOKEN || null,
    hubEndpoint: (env.HF_ENDPOINT || 'https://huggingface.co').replace(/\/+$/, ''),
    openAiBaseUrl: (env.OPENAI_BASE_URL || 'https://api.openai.com/v1').replace(/\/+$/, ''),
    hubOffline: ['1', 'true', 'yes', 'on'].includes((env.HF_HUB_OFFLINE ?? '').toLowerCase()),
    environment: env,
    installDir,
    pythonPath: join(installDir, 'trainer', '.venv', ...venvPython),
    converterDir: join(installDir, 'build', 'llama.cpp'),
    limits: Object.freeze({
      ...defaultLimits,
      ...(JSON.parse(env.HONE_TEST_LIMITS || '{}') as Partial<Limits>),
    }),
  });
}

function parseFlags(argv: readonly string[]) {
  return parseArgs({
    args: [...argv],
    allowPositionals: true,
    strict: true,
    options: {
      port: { type: 'string' },
      host: { type: 'string' },
      cluster: { type: 'string' },
      'log-level': { type: 'string', default: 'info' },
      scope: { type: 'string', default: 'full' },
      budget: { type: 'string' },
      record: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      'allowed-host': { type: 'string', multiple: true, default: [] },
      'allow-origin': { type: 'string', multiple: true, default: [] },
      access: { type: 'string' },
      parallel: { type: 'string' },
      'trusted-proxy': { type: 'string', multiple: true, default: [] },
      'allow-path': { type: 'string', multiple: true, default: [] },
      'tls-cert': { type: 'string' },
      'tls-key': { type: 'string' },
    },
  });
}
