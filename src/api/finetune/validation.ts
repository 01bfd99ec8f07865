import type { Services } from '../../domain/services.ts';
import { route } from '../../http/route.ts';
import { noAccess, noHub, refused, tag } from './documented.ts';
import * as s from './schemas.ts';
import { underName } from './under-name.ts';

/** Whether a task or a model can be used. */
export function validationRoutes({ selection }: Services) {
  return [
    route({
      method: 'POST',
      path: '/api/finetune/validate_task',
      tag,
      summary: 'Validate and select a task',
      body: s.taskBody,
      bodyExample: { task: 'text-generation' },
      responses: { 200: { description: 'The task is valid', schema: s.validatedTask }, 400: refused },
      handle: async ({ body }) => {
        await selection.chooseTask(body.task);
        return { valid: true, task: body.task };
      },
    }),
    route({
      method: 'POST',
      path: '/api/finetune/validate_model',
      tag,
      summary: 'Check that a hub model or local folder can be used',
      body: s.selectedModelBody,
      paths: { selected_model: 'model' },
      bodyExample: { selected_model: 'Qwen/Qwen3-0.6B' },
      responses: {
        200: { description: 'The model is accessible', schema: s.validatedModel },
        400: refused,
        403: noAccess,
        502: noHub,
      },
      handle: async ({ body }) => {
        await underName(['body', 'selected_model'], () => selection.checkModel(body.selected_model));
        return { valid: true, model: body.selected_model };
      },
    }),
    route({
      method: 'POST',
      path: '/api/finetune/validate_custom_model',
      tag,
      summary: 'Validate a custom hub repository',
      body: s.repositoryBody,
      paths: { repo_name: 'model' },
      bodyExample: { repo_name: 'Qwen/Qwen3-0.6B' },
      responses: {
        200: { description: 'The repository is accessible', schema: s.validatedCustomModel },
        400: refused,
        403: noAccess,
        502: noHub,
      },
      handle: async ({ body }) => {
        const { hub: info } = await underName(['body', 'repo_name'], () =>
          selection.checkModel(body.repo_name),
        );
        return {
          valid: true,
          repo_name: body.repo_name,
          model_info: {
            id: info?.id ?? body.repo_name,
            author: info?.author ?? '',
            downloads: info?.downloads ?? 0,
            likes: info?.likes ?? 0,
          },
        };
      },
    }),
  ];
}
