/** Characters that a shell would act on, in every field of every request: they run nothing. */
import { cpSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  untilEnded,
} from '../service.ts';

let service: TestService;
const folder = temporaryFolder();
const canary = join(folder, 'canary');
/** One text that any shell would run in one of its parts. */
const text = `x\`touch ${canary}\`$(touch ${canary});touch ${canary}|touch ${canary}&touch ${canary}\ntouch ${canary}\n'"; touch ${canary} #`;
/** The same as the name of a folder, which has no slash. */
const name = 'm $(touch canary-here);touch canary-here|touch canary-here&"\'`touch canary-here`';

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

function ranNothing(): void {
  assert.not.ok(existsSync(canary), 'no canary file');
  for (const place of [service.dataDir, folder, root]) {
    const found = readdirSync(place).filter((entry) => entry.startsWith('canary'));
    assert.equal(found, [], place);
  }
  const below = readdirSync(service.dataDir, { recursive: true }).map(String);
  assert.equal(
    below.filter((path) => /(^|\/)canary/.test(path)),
    [],
  );
}

test('metacharacters in every field, path and query of every route run nothing', async () => {
  const { paths } = (await service.call('GET', '/api/openapi.json')).body;
  let fields = 0;
  const statuses: number[] = [];
  const send = async (method: string, path: string, body?: unknown) => {
    fields += 1;
    const { status } = await service.call(method, path, method === 'GET' ? undefined : body);
    statuses.push(status);
    assert.ok(status < 500, `${method} ${path} ${JSON.stringify(body)}: ${status}`);
  };
  for (const [path, methods] of Object.entries(paths as Json)) {
    for (const [lower, operation] of Object.entries(methods as Json) as [string, Json][]) {
      const method = lower.toUpperCase();
      const concrete = path.replace(/\{\w+\}/g, 'train_1');
      if (path.includes('{')) await send(method, path.replace(/\{\w+\}/g, encodeURIComponent(text)));
      for (const { name: field } of (operation.parameters ?? []).filter((one: Json) => one.in === 'query'))
        await send(method, `${concrete}?${new URLSearchParams({ [field]: text })}`);
      const media = operation.requestBody?.content?.['application/json'];
      for (const field of Object.keys(media?.schema?.properties ?? {})) {
        const example = path.includes('start_training') ? quickRequest() : media.example;
        await send(method, concrete, { ...example, [field]: text });
      }
    }
  }
  assert.ok(fields > 100 && statuses.some((status) => status === 400), `${fields} fields`);
  assert.ok((await service.upload(`${name}.jsonl`, supportRows())).status < 500);
  ranNothing();
});

test('a model in a folder with such a name is trained, exported and answers, and runs nothing', async () => {
  // Those that were started above, where the text is a valid value.
  for (const { sweep_id } of (await service.call('GET', '/api/sweeps')).body.sweeps)
    await service.call('POST', `/api/sweeps/${sweep_id}/stop`);
  await service.call('POST', '/api/stop_training');
  await untilEnded(service);
  const model = join(folder, name);
  cpSync(tinyModel('llama'), model, { recursive: true });
  const started = await service.call(
    'POST',
    '/api/start_training',
    quickRequest({ model_name: model, max_steps: 1 }),
  );
  assert.is(started.status, 200, JSON.stringify(started.body));
  const ended = await untilEnded(service);
  assert.is(ended.status, 'completed', JSON.stringify(ended));
  const [{ model_id }] = (await service.call('GET', '/api/models/')).body;
  const answer = await service.call('POST', '/api/playground/new', {
    ...{ model_id, prompt: text, max_length: 4, temperature: 0 },
  });
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  ranNothing();
});

test.run();
