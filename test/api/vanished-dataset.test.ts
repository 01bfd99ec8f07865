/** A dataset whose file vanished, or became something else, behind the service's back: told with 4xx, never a hang. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, quickRequest, startService, supportRows, type TestService } from '../service.ts';
import { readDescription } from './description.ts';

let service: TestService;
let description: Awaited<ReturnType<typeof readDescription>>;

test.before(async () => {
  service = await startService();
  description = await readDescription(service);
});
test.after(endAll);

const path = () => join(service.dataDir, 'datasets', 'support.jsonl');

const becomes: Record<string, { act: () => void; status: number; says: string }> = {
  nothing: { act: () => undefined, status: 404, says: 'is gone' },
  'a folder': { act: () => mkdirSync(path()), status: 400, says: 'no longer a file' },
  ...(process.platform === 'win32'
    ? {}
    : {
        'a named pipe': {
          act: () => execFileSync('mkfifo', [path()]),
          status: 400,
          says: 'no longer a file',
        },
      }),
};

for (const [what, { act, status, says }] of Object.entries(becomes)) {
  test(`a dataset that became ${what} is told at every use, and can be deleted`, async () => {
    assert.is((await service.upload('support.jsonl', supportRows())).status, 200);
    rmSync(path());
    act();
    const requests = [
      ['GET', '/api/datasets/support.jsonl', undefined],
      ['POST', '/api/datasets/support.jsonl/convert', undefined],
      ['POST', '/api/datasets/support.jsonl/split', { fraction: 0.5 }],
      ['POST', '/api/datasets/support.jsonl/analysis', {}],
      ['POST', '/api/finetune/start_training', quickRequest()],
      ['POST', '/api/start_training', quickRequest()],
    ] as const;
    const answers = await Promise.all(requests.map(([method, url, body]) => service.call(method, url, body)));
    for (const [place, answer] of answers.entries()) {
      const [method, url] = requests[place] as (typeof requests)[number];
      const text = JSON.stringify(answer.body);
      assert.is(answer.status, status, `${method} ${url}: ${text}`);
      assert.match(text, says);
      assert.not.match(text, service.dataDir);
      description.check(method, url, answer);
    }
    assert.is((await service.call('GET', '/api/datasets')).status, 200);
    // What a run needs is told of what may not be there yet, too.
    const estimate = await service.call('POST', '/api/estimate', quickRequest());
    assert.is(estimate.status, 200, JSON.stringify(estimate.body));
    const example = await service.call('POST', '/api/examples/support');
    assert.ok(example.status < 500, JSON.stringify(example.body));
    const removed = await service.call('DELETE', '/api/datasets/support.jsonl');
    assert.is(removed.status, 200, JSON.stringify(removed.body));
    // A folder is not deleted, and nothing can be stored under its name.
    assert.is(existsSync(path()), what === 'a folder');
    const upload = await service.upload('support.jsonl', supportRows());
    description.check('POST', '/api/upload_dataset', upload);
    assert.is(upload.status, what === 'a folder' ? 400 : 200, JSON.stringify(upload.body));
    rmSync(path(), { recursive: true });
  });
}

test('a file that lost rows is validated again before a training', async () => {
  assert.is((await service.upload('support.jsonl', supportRows())).status, 200);
  truncateSync(path(), 500);
  const { status, body } = await service.call('POST', '/api/start_training', quickRequest());
  assert.is(status, 400);
  assert.match(body.detail, 'Dataset validation failed');
  const { body: dataset } = await service.call('GET', '/api/datasets/support.jsonl');
  assert.ok(dataset.num_examples < 10);
});

test('a name that is too long for file systems is cut between characters', async () => {
  const upload = await service.upload(`${'語'.repeat(300)}.jsonl`, supportRows());
  assert.is(upload.status, 200, JSON.stringify(upload.body));
  assert.is(upload.body.filename, `${'語'.repeat(66)}.jsonl`);
  const lookup = await service.call('GET', `/api/datasets/${encodeURIComponent('語'.repeat(300))}`);
  assert.is(lookup.status, 404);
  for (const field of ['dataset', 'model_name']) {
    const answer = await service.call('POST', '/api/start_training', {
      ...quickRequest({ dataset: upload.body.filename }),
      [field]: `/${'x'.repeat(5000)}/${'語'.repeat(300)}.jsonl`,
    });
    assert.ok(answer.status >= 400 && answer.status < 500, `${field}: ${JSON.stringify(answer.body)}`);
  }
});

test.run();
