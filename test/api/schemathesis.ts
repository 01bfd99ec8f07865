/**
 * Schemathesis reads the OpenAPI document and tries every operation with what it allows and what it does
 * not: each answer has a documented status, content type and schema, and bad data is refused.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type LoopbackHub, startLoopbackHub } from '../hub/loopback.ts';
import { littleInstallation } from '../jobs/little-installation.ts';
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
  until,
  untilEnded,
} from '../service.ts';

const program = join(root, 'trainer', '.venv', 'bin', 'schemathesis');
const seed = process.env.HONE_SEED ?? '1';

/** uWebSockets.js closes the connection on a method that is not among these (and HEAD, OPTIONS, CONNECT). */
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'];
/** What there is, so that more than 404 is seen. Deleting and resuming are left to made-up names. */
const known = [
  ['/api/datasets/{name}', 'GET', { name: 'support.jsonl' }],
  ['/api/datasets/{name}/convert', 'POST', { name: 'support.jsonl' }],
  ['/api/jobs/{job_id}', 'GET', { job_id: 'train_1' }],
  ['/api/jobs/{job_id}/metrics', 'GET', { job_id: 'train_1' }],
  ['/api/jobs/{job_id}/log', 'GET', { job_id: 'train_1' }],
  ['/api/finetune/recommended_models/{task}', 'GET', { task: 'summarization' }],
  ['/api/models/task/{task}', 'GET', { task: 'summarization' }],
  ['/api/recommendations', 'GET', { task: 'summarization' }],
  ['/api/examples/{name}', 'POST', { name: 'support' }],
  ['/api/jobs/{job_id}/events', 'GET', { job_id: 'train_1' }],
] as const;

/** Some requests start a process, which takes minutes on a busy machine. */
const requestTimeoutSeconds = '600';

let service: TestService;
let hub: LoopbackHub;

/** A test that gives each operation its examples, the bounds of its fields, and `count` random requests. */
export function testEveryOperation(count: number): void {
  test.before(async () => {
    hub = await startLoopbackHub();
    hub.addModel('Qwen/Qwen3-0.6B', tinyModel('qwen3'));
    service = await startService({
      env: {
        ...littleInstallation('exit-code'),
        HF_ENDPOINT: hub.url,
        HF_HOME: temporaryFolder(),
        HUB_TOKEN: '',
      },
    });
    await service.upload('support.jsonl', supportRows());
    await service.call('POST', '/api/start_training', quickRequest());
    await untilEnded(service);
  });
  test.after(async () => {
    await endAll();
    await hub.close();
  });

  test('no operation answers other than the OpenAPI document says', async () => {
    const folder = temporaryFolder();
    const config = join(folder, 'schemathesis.toml');
    writeFileSync(config, settings());
    // Rules between fields, and what there is on this machine, are beyond a schema: what it allows may be refused.
    const checks = ['--checks', 'all', '--exclude-checks', 'positive_data_acceptance'];
    const phases = ['--phases', 'examples,coverage,fuzzing', '--max-examples', String(count), '--seed', seed];
    const url = `${service.url}/api/openapi.json`;
    const output = await promisify(execFile)(
      program,
      [
        '--config-file',
        config,
        '--no-color',
        'run',
        url,
        ...checks,
        ...phases,
        '--request-timeout',
        requestTimeoutSeconds,
        '--max-response-time',
        requestTimeoutSeconds,
      ],
      { cwd: folder, maxBuffer: 2 ** 26 },
    ).then(
      ({ stdout }) => stdout,
      (error) => {
        throw new Error(`Schemathesis (seed ${seed}) found faults:\n${error.stdout}\n${error.stderr}`);
      },
    );
    assert.match(output, /Tested: [1-9]/);
    assert.equal(
      service.log.filter(({ level }) => level >= 50),
      [],
    );
    await until(
      async () =>
        (await service.call('GET', '/api/jobs')).body.jobs.every(({ ended_at }: Json) => ended_at !== null),
      'the little trainers that it started have ended',
    );
  });
}

/** The settings file of a run, in TOML. */
function settings(): string {
  const overrides = known.map(
    ([path, method, parameters]) =>
      `[[operations]]\ninclude-path = ${JSON.stringify(path)}\ninclude-method = "${method}"\nparameters = { ${Object.entries(
        parameters,
      )
        .map(([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}`)
        .join(', ')} }\n`,
  );
  return `[phases.coverage]\nunexpected-methods = ${JSON.stringify(methods)}\n\n${overrides.join('\n')}`;
}
