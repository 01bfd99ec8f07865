/** Secrets of a service under test, and the places where they must not be. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { readDescription } from '../api/description.ts';
import { ask, until } from '../client.ts';
import type { TestService } from '../service.ts';

/** Secrets in a service's environment, besides the hub token. */
export const canaries = {
  HONE_ACCESS_KEY: 'canaryAccessKey0123456789abcdefghijkl',
  AWS_ACCESS_KEY_ID: 'canaryAwsId0123456789',
  AWS_SECRET_ACCESS_KEY: 'canaryAwsSecret0123456789',
  DATABASE_URL: 'postgres://ada:canaryDatabase0123456789@db.example/app',
  NVIDIA_API_KEY: 'canaryNvidia0123456789',
};
/** Secrets in `.env` of its working directory. The last ones are words that a tokenizer needs. */
export const dotenv = [
  'AWS_SESSION_TOKEN=canaryDotenv0123456789',
  'POSTGRES_PASSWORD=canaryPassword0123456789',
  ...['[UNK]', '[CLS]', '[SEP]', '[PAD]', '[MASK]', '<s>', '</s>', '<unk>', '<pad>'],
].join('\n');
/** What a search looks for, apart from the hub token. */
export const secrets = [
  ...Object.values(canaries),
  'canaryDatabase0123456789',
  'canaryDotenv0123456789',
  'canaryPassword0123456789',
];

const holds = (text: string | Buffer, wanted: readonly string[]) =>
  wanted.filter((secret) => text.includes(secret));

/** Fails if a file under a folder contains a secret; `.env` itself is left out. */
export function searchFolder(folder: string, wanted: readonly string[]): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== '.env')
    .map((entry) => join(entry.parentPath, entry.name));
  for (const file of files) assert.equal(holds(readFileSync(file), wanted), [], file);
  return files.length;
}

/**
 * Asks for every GET route of the service's OpenAPI document, and for every file of its model, and fails if an answer
 * or its headers contain a secret, or if a route cannot be asked.
 */
export async function searchAnswers(service: TestService, modelId: string, wanted: readonly string[]) {
  const { operations } = await readDescription(service);
  const { files } = (await service.call('GET', `/api/models/${modelId}/files`)).body;
  const parameters: Record<string, string> = {
    'GET /api/models/{model_id}': '1',
    'GET /api/examples/{name}': 'support',
    'GET /api/graders/{name}': 'brief',
    'GET /v1/models/{model}': (await service.call('GET', '/v1/models')).body.data[0].id,
  };
  const { body: imported } = await service.call('POST', '/api/imports', { dataset: 'support.jsonl' });
  await service.call('POST', '/api/graders', { type: 'hone_length', name: 'brief', max: 9 });
  const { body: evaluation } = await service.call('POST', '/v1/evals', {
    data_source_config: { type: 'custom', item_schema: {} },
    testing_criteria: [{ type: 'hone_length', name: 'brief', max: 9 }],
  });
  const runs = `/v1/evals/${evaluation.id}/runs`;
  const source = { type: 'file_content', content: [{ item: {}, sample: { output_text: 'Hi' } }] };
  const { body: run } = await service.call('POST', runs, { data_source: { type: 'jsonl', source } });
  const item = await until(async () => {
    const { status, body: items } = await service.call('GET', `${runs}/${run.id}/output_items`);
    assert.is(status, 200, JSON.stringify([evaluation, run, items]));
    return items.data[0];
  }, 'a row was scored');
  const turn = { id: 'a', after: '', prompt: 'Hi', answers: [] };
  await service.call('PUT', '/api/playground/chats/known', { model_id: modelId, turns: [turn] });
  const answered = { model: modelId, input: 'Hi', max_output_tokens: 1 };
  const { body: response } = await service.call('POST', '/v1/responses', answered);
  const chat = { model: modelId, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1, store: true };
  const { body: completion } = await service.call('POST', '/v1/chat/completions', chat);
  const form = new FormData();
  form.append('file', new Blob(['The fee is due in May.']), 'fees.txt');
  const added = await fetch(`${service.url}/api/documents`, { method: 'POST', body: form });
  const document = (await added.json()) as { id: string };
  const { body: making } = await service.call('POST', '/api/document_rows', {
    ...{
      name: 'varied',
      kind: 'paraphrase',
      model: modelId,
      dataset: 'support.jsonl',
      max_rows: 1,
      max_tokens: 16,
    },
  });
  const { body: kept } = await service.call('GET', '/api/datasets/support.jsonl/versions');
  const known: Record<string, string> = {
    ...{ model_id: modelId, job_id: 'train_1', name: 'support.jsonl', task: 'text-generation' },
    ...{ id: imported.id, file_id: 'none', sweep_id: 'none', evaluation_id: 'none' },
    ...{ chat_id: 'known', line: '1', response_id: response.id, completion_id: completion.id },
    ...{ eval_id: evaluation.id, run_id: run.id, output_item_id: item.id },
    ...{ document_id: document.id, making_id: making.id },
    sha256: kept.versions[0].sha256,
  };
  /** What this service has none of, or what is asked below. */
  const left = /\/files\/|\/fine_tuning\/jobs\/|\/sweeps\/|\/evaluations\/|^\/api\/hub\/dataset/;
  const { models: bases } = (await service.call('GET', '/api/base_models')).body;
  const base = bases.find(({ answers_as: name }: { answers_as: string | null }) => name !== null);
  const { request } = (await service.call('GET', '/api/jobs/train_1')).body;
  const queries: Record<string, string> = {
    '/api/teachers': `?model_name=${encodeURIComponent(request.model_name)}`,
    '/api/base_models/answers': `?name=${encodeURIComponent(base.answers_as)}`,
    '/api/playground/model_path': `?model_id=${modelId}`,
    '/api/recommendations': '?task=text-generation',
    [`/api/models/${modelId}/card`]: '?repo_name=owner/name',
    '/api/jobs/report': '?jobs=train_1&rows=true',
  };
  const paths = operations
    .filter(({ method }) => method === 'GET')
    .map(({ path }) =>
      path.replace(/\{(\w+)\}/g, (_, name: string) => {
        const value = parameters[`GET ${path}`] ?? known[name];
        assert.ok(value, `a value for {${name}} of ${path}`);
        return encodeURIComponent(value as string);
      }),
    )
    .map((path) => path + (queries[path] ?? ''))
    .filter((path) => !left.test(path));
  paths.push(
    ...['/', '/api/openapi.json', `/api/models/${modelId}`, '/api/jobs/train_1/metrics?points=0'],
    ...files.map(({ name }: { name: string }) => {
      return `/api/models/${modelId}/files/${encodeURIComponent(name)}`;
    }),
  );
  const refused: string[] = [];
  for (const path of paths) {
    const { status, headers, bytes } = await ask(service.url + path);
    if (status !== 200) refused.push(`${status} ${path}: ${bytes.toString('utf8', 0, 200)}`);
    assert.equal(holds(bytes, wanted), [], path);
    assert.equal(holds(JSON.stringify([...headers]), wanted), [], path);
  }
  assert.equal(refused, []);
  return paths.length;
}

/** Processes that descend from a service, with the secrets in their arguments and environments (Linux only). */
export interface Watch {
  /** By their arguments. The environment of a process that has just begun may still be that of the service. */
  readonly found: ReadonlyMap<string, readonly string[]>;
  end(): void;
}

/** How often the processes are listed, in milliseconds. */
const everyMs = 100;

/** Watches the descendants of a process until it is ended. */
export function watchDescendants(ancestor: number, wanted: readonly string[]): Watch {
  const found = new Map<string, readonly string[]>();
  const read = (pid: string, file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'latin1');
    } catch {
      return ''; // It has ended.
    }
  };
  const look = () => {
    const parents = new Map<string, string>();
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const stat = read(pid, 'stat');
      parents.set(pid, stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? '');
    }
    const descends = (pid: string | undefined): boolean =>
      pid !== undefined && (pid === String(ancestor) || descends(parents.get(pid)));
    const own = read(String(ancestor), 'cmdline');
    for (const [pid, parent] of parents) {
      if (!descends(parent)) continue;
      const [before, environment, after] = [read(pid, 'cmdline'), read(pid, 'environ'), read(pid, 'cmdline')];
      // Between fork and exec a process is still the service.
      if (before === own || before === '' || before !== after) continue;
      const key = before.split('\0').join(' ').trim();
      found.set(key, [...new Set([...(found.get(key) ?? []), ...holds(before + environment, wanted)])]);
    }
  };
  const timer = process.platform === 'linux' ? setInterval(look, everyMs) : undefined;
  return { found, end: () => clearInterval(timer) };
}
