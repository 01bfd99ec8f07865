/**
 * What the tests of bad input share: a service without a hub, its OpenAPI document, and checks that nothing changes. Each
 * request is answered with a 4xx that the document names, in the set's own format.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Answer,
  endAll,
  type Json,
  startService,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';
import { type Description, type Operation, readDescription } from './description.ts';

export let service: TestService;
export let description: Description;
let before = '';

/** All that a request could have changed. */
async function state(): Promise<string> {
  const paths = [
    '/api/jobs',
    '/api/models/',
    '/api/datasets',
    '/api/finetune/session',
    '/api/finetune/status',
  ];
  const answers = await Promise.all(paths.map((path) => service.call('GET', path)));
  const folders = ['datasets', 'jobs', 'model_checkpoints'].map((name) =>
    readdirSync(join(service.dataDir, name)),
  );
  return JSON.stringify([answers.map(({ body }) => body), folders], null, 1);
}

/** Starts the service before the file's tests, and ends it after. */
export function useService(): void {
  test.before(async () => {
    service = await startService({
      env: { HF_ENDPOINT: 'http://127.0.0.1:9', HF_HOME: temporaryFolder(), HUB_TOKEN: '' },
      limits: { uploadBytes: 100_000 },
    });
    description = await readDescription(service);
    await service.call('POST', '/api/finetune/validate_task', { task: 'summarization' });
    await service.call('POST', '/api/finetune/set_model', { selected_model: 'acme/chosen' });
    const rows = Array.from({ length: 10 }, (_, index) => `{"input":"in ${index}","output":"out"}`);
    await service.upload('kept.jsonl', rows.join('\n'));
    // Its analysis is a change, too.
    await until(async () => {
      const { datasets } = (await service.call('GET', '/api/datasets')).body;
      return datasets[0].findings !== null;
    }, 'the dataset is analysed');
    before = await state();
  });
  test.after(endAll);
}

/** A test after which nothing may have changed. (uvu does not report a failure in a hook after each test.) */
export function unchanged(name: string, work: () => Promise<void>): void {
  test(name, async () => {
    await work();
    assert.is(await state(), before, 'nothing has changed');
    const failures = service.log.filter(({ level }) => level >= 50);
    assert.equal(failures, [], 'nothing failed inside');
  });
}

export const withBody = () =>
  description.operations.filter(({ description: { requestBody } }) => jsonOf(requestBody));
/** The schema of a body and its example; of a body of several types, the schema of the example's. */
export function jsonOf(requestBody: Json): Json {
  const json = requestBody?.content['application/json'];
  const { oneOf } = json?.schema ?? {};
  if (oneOf === undefined) return json;
  const isOfExample = ({ properties }: Json) => properties.type.const === json.example.type;
  return { ...json, schema: oneOf.find(isOfExample) };
}
/** The path of an operation with values that name nothing. A chat could be stored under any ID. */
export const pathOf = ({ path }: Operation) =>
  path
    .replace('{task}', 'summarization')
    .replace('{chat_id}', 'no.chat')
    .replaceAll(/\{\w+\}/g, 'none');

/** Sends bytes as they are. */
export async function send(
  { method, path }: { method: string; path: string },
  body: BodyInit | undefined,
  headers: Record<string, string> = { 'content-type': 'application/json' },
): Promise<Answer> {
  const stream = body instanceof ReadableStream ? { duplex: 'half' } : {};
  const response = await fetch(service.url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
    ...stream,
  } as RequestInit);
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
}

/** The answer is as documented, and of `status`, or a 4xx or 502 (the hub, which is away) where none is given. */
export function isRefused(operation: Operation, answer: Answer, status: number | null, what: string): void {
  description.check(operation.method, operation.path, answer);
  const context = `${operation.method} ${operation.path} ${what}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`;
  if (status !== null) assert.is(answer.status, status, context);
  // An estimate is given for what may not be there yet, a key, a grader, an eval and a model of another service may have
  // any name, a judge any key, rows are counted of answers that may not be there, and a check, a test of a grader and a
  // move tell what is wrong.
  else if (
    answer.status !== 200 ||
    !/^\/(api\/(estimate|keys|judge_keys|remote_models|graders(\/test)?|base_models\/check|traffic\/rows|move\/.*)|v1\/(evals|fine_tuning\/alpha\/graders\/.*))$/.test(
      operation.path,
    )
  )
    assert.ok((answer.status >= 400 && answer.status < 500) || answer.status === 502, context);
}

/** All that the answer says, in whichever format. */
export const said = ({ body }: Answer) => JSON.stringify(body);
