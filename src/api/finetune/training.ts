import { startedMessage } from '../../domain/job-record/job.ts';
import type { Services } from '../../domain/services.ts';
import { trainingExample, trainingPaths, trainingRequest } from '../../domain/training/training-request.ts';
import { rendered } from '../../http/rendered.ts';
import { route } from '../../http/route.ts';
import { tag } from './documented.ts';
import { presentStatus } from './presenters.ts';
import * as s from './schemas.ts';

/** The training: its settings, its start and its status. */
export function trainingRoutes({ expectTraining, jobs, recommendedSettings }: Services) {
  const status = rendered(presentStatus);
  return [
    route({
      method: 'GET',
      path: '/api/finetune/load_settings',
      tag,
      summary: 'Recommended training settings for this machine',
      responses: { 200: { description: 'The settings', schema: s.settings } },
      handle: async () => {
        expectTraining();
        const settings = await recommendedSettings();
        return { ...settings, bf16: settings.bf16 ?? false };
      },
    }),
    route({
      method: 'POST',
      path: '/api/finetune/start_training',
      tag,
      summary: 'Start training',
      body: trainingRequest,
      paths: trainingPaths,
      moreFaults: (fields, refused) => jobs.faults({ fields, refused }),
      bodyExample: trainingExample,
      responses: {
        200: { description: 'Training started', schema: s.started },
        400: { description: 'Invalid request or dataset', schema: s.error },
        404: { description: 'Dataset not found', schema: s.error },
        409: { description: 'Training is already in progress', schema: s.error },
      },
      handle: async ({ body }) => {
        const { job, warnings } = await jobs.start(body);
        return { success: true, message: startedMessage(job, warnings), job_id: `train_${job.id}` };
      },
    }),
    route({
      method: 'GET',
      path: '/api/finetune/status',
      tag,
      summary: 'Training status',
      responses: { 200: { description: 'The status', schema: s.status } },
      handle: () => status(jobs.current()),
    }),
    route({
      method: 'POST',
      path: '/api/finetune/reset_status',
      tag,
      summary: 'Reset the training status',
      responses: {
        200: { description: 'The status is idle unless training is in progress', schema: s.acknowledged },
      },
      handle: () => ({
        success: true,
        message: jobs.acknowledge()
          ? 'The training status was reset'
          : 'Training is in progress; its status was not reset',
      }),
    }),
  ];
}
