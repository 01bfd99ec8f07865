/*
 * What the page's client, settings and the service's handlers must not get past the compiler: each is wrong
 * in one way, and the type check of the whole repository fails where it does not object. Nothing here is run.
 */
import * as v from 'valibot';
import type { Settings, SettingValues } from '../../src/contract/settings.ts';
import { route } from '../../src/http/route.ts';
import { call, open, pathOf } from '../../ui/api/call.ts';

export async function misuse(): Promise<void> {
  const path = { job_id: 'train_1' };
  // @ts-expect-error no route has this path
  await call('GET /api/job');
  // @ts-expect-error the path has no such method
  await call('PUT /api/jobs/{job_id}', { path });
  // @ts-expect-error the parameter of the path is missing
  await call('GET /api/jobs/{job_id}');
  // @ts-expect-error the parameter of the path has another name
  await call('GET /api/jobs/{job_id}', { path: { id: 'train_1' } });
  // @ts-expect-error the route has no parameters
  await call('GET /api/info', { path });
  // @ts-expect-error the query has no such field
  await call('GET /api/jobs/{job_id}/metrics', { path, query: { point: 100 } });
  // @ts-expect-error the field of the query is a number
  await call('GET /api/jobs/{job_id}/metrics', { path, query: { points: 'all' } });
  // @ts-expect-error a field of the query is missing
  await call('GET /api/recommendations', { query: {} });
  // @ts-expect-error the body is missing
  await call('POST /api/hub/push');
  // @ts-expect-error a field of the body is missing
  await call('POST /api/hub/push', { body: { model_id: 'm' } });
  // @ts-expect-error a field of the body is misspelled
  await call('POST /api/jobs/{job_id}/stop', { path, body: { discarded: true } });
  // @ts-expect-error a field of the body has the wrong type
  await call('POST /api/jobs/{job_id}/stop', { path, body: { discard: 'yes' } });
  // @ts-expect-error the route takes no body
  await call('POST /api/models/{model_id}/push/cancel', { path: { model_id: 'm' }, body: {} });
  const request = { task: 'text-generation', model_name: 'owner/name', dataset: 'a.jsonl' };
  // @ts-expect-error a training has no such setting
  await call('POST /api/finetune/start_training', { body: { ...request, lora_rank: 8 } });
  // @ts-expect-error a setting is a number
  await call('POST /api/finetune/start_training', { body: { ...request, lora_r: '8' } });
  // @ts-expect-error the answer has no such field
  (await call('GET /api/jobs/{job_id}', { path })).status;
  // @ts-expect-error the field may be absent a value
  (await call('GET /api/jobs/{job_id}', { path })).last_metric.step;
  // @ts-expect-error the log is text, without fields
  (await call('GET /api/jobs/{job_id}/log', { path })).lines;
  // @ts-expect-error a download is no answer to be read as one
  (await call('GET /api/models/{model_id}/files/{name}', { path: { model_id: 'm', name: 'n' } })).bytes;
  // @ts-expect-error the name of the file is missing
  pathOf('GET /api/models/{model_id}/files/{name}', { path: { model_id: 'm' } });
  // @ts-expect-error a message has no such role
  await open('POST /v1/chat/completions', { body: { model: 'm', messages: [{ role: 'me', content: '' }] } });
}

const answer = { 200: { description: 'A job', schema: v.object({ job_id: v.string(), step: v.number() }) } };
const told = { method: 'GET', tag: 'none', summary: 'None' } as const;
export const routes = [
  route({
    ...told,
    path: '/a/{id}',
    responses: answer,
    handle: ({ params }) => ({ job_id: params.id, step: 1 }),
  }),
  route({
    ...told,
    path: '/a/{id}',
    responses: answer,
    // @ts-expect-error the path has no such parameter
    handle: ({ params }) => ({ job_id: params.no, step: 1 }),
  }),
  // @ts-expect-error a field of the answer is missing
  route({ ...told, path: '/a', responses: answer, handle: () => ({ job_id: 'train_1' }) }),
  // @ts-expect-error a field of the answer has the wrong type
  route({ ...told, path: '/a', responses: answer, handle: () => ({ job_id: 'train_1', step: '1' }) }),
];

export const asked: Partial<SettingValues>[] = [
  { lora_r: 8, device: 'cuda', packing: true, target_modules: ['q_proj'] },
  // @ts-expect-error there is no such setting
  { lora_rank: 8 },
  // @ts-expect-error the setting is no switch
  { lora_r: true },
  // @ts-expect-error the choice is not one of the setting's
  { device: 'gpu' },
];
export const ranks = (run: Settings): number => run.lora_r;
// @ts-expect-error the trainer may have to choose
export const halves = (run: Settings): boolean => run.bf16;
