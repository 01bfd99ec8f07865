/** A real cluster on this machine: started, shown, trained on, and ended without a trace. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  quickRequest,
  root,
  startService,
  supportRows,
  temporaryFolder,
  until,
  untilEnded,
} from '../service.ts';
import { appearanceFaults } from '../ui/appearance.ts';
import { closeBrowser, openPage, sees } from '../ui/browser.ts';

const run = promisify(execFile);
const dataDir = temporaryFolder();
const token = join(dataDir, 'cluster', 'token');

const hone = (...args: string[]) =>
  run(process.execPath, [join(root, 'dist', 'main.js'), ...args], {
    env: { ...process.env, SERVICE_DATA_DIR: dataDir },
  });

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

let port: number;
test.before(async () => {
  port = await freePort();
});
test.after(async () => {
  await closeBrowser();
  await endAll();
  await hone('cluster', 'stop');
});

test('a cluster starts with a token that only this user can read', async () => {
  const { stdout } = await hone('cluster', 'start', '--port', String(port));
  assert.match(stdout, `hone serve --cluster 127.0.0.1:${port}`);
  assert.is(statSync(token).mode & 0o777, 0o600);
  assert.not.match(stdout, readFileSync(token, 'utf8'));
  const second = await hone('cluster', 'start', '--port', String(port)).catch((error) => error);
  assert.match(second.stderr, 'A cluster is running at');
});

test('a run with two workers trains on it', async () => {
  const service = await startService({ dataDir, args: ['--cluster', `127.0.0.1:${port}`] });
  const cluster = await until(async () => {
    const { body } = await service.call('GET', '/api/info');
    return body.cluster.asked_at === null ? null : body.cluster;
  }, 'the head has answered');
  assert.is(cluster.available, true, cluster.reason);
  assert.is(cluster.nodes[0].address, '127.0.0.1');
  const { page, faults } = await openPage(service.url, '/');
  const node = page.locator('.cluster-nodes > li', { hasText: '127.0.0.1' });
  const { cpus } = cluster.nodes[0];
  await node.getByText(`${cpus} of ${cpus} free`).waitFor();
  assert.equal(await appearanceFaults(page, 'cluster'), []);
  assert.is((await service.upload('support.jsonl', supportRows())).status, 200);
  const { status, body } = await service.call(
    'POST',
    '/api/start_training',
    quickRequest({ workers: 2, gradient_accumulation_steps: 2 }),
  );
  assert.is(status, 200, JSON.stringify(body));
  assert.is((await untilEnded(service)).status, 'completed');
  await page.goto(`${service.url}/training/${body.job_id}`);
  await sees(page, '2 workers');
  assert.equal(faults, []);
});

test('nothing of it stays when it ends', async () => {
  const head = JSON.parse(readFileSync(join(dataDir, 'cluster', 'head.json'), 'utf8'));
  assert.match((await hone('cluster', 'stop')).stdout, 'has ended');
  const { stdout: processes } = await run('ps', ['-A', '-ww', '-o', 'args='], { maxBuffer: 2 ** 24 });
  assert.not.match(processes, head.temporaryDir);
  assert.not(existsSync(head.temporaryDir));
  const refused = await hone('join', `127.0.0.1:${port}`).catch((error) => error);
  assert.match(refused.stderr, 'Nothing answers at');
});

test.run();
