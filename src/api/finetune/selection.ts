import type { Services } from '../../domain/services.ts';
import { route } from '../../http/route.ts';
import { noAccess, noHub, refused, tag } from './documented.ts';
import * as s from './schemas.ts';
import { underName } from './under-name.ts';

/** The selected model. */
export function selectionRoutes({ selection }: Services) {
  return [
    route({
      method: 'POST',
      path: '/api/finetune/set_model',
      tag,
      summary: 'Select a model',
      body: s.selectedModelBody,
      paths: { selected_model: 'model' },
      bodyExample: { selected_model: 'Qwen/Qwen3-0.6B' },
      responses: { 200: { description: 'The model is selected', schema: s.selectedModel }, 400: refused },
      handle: async ({ body }) => {
        await underName(['body', 'selected_model'], () => selection.chooseModel(body.selected_model, false));
        return {
          success: true,
          selected_model: body.selected_model,
          message: `Model ${body.selected_model} is selected`,
        };
      },
    }),
    route({
      method: 'POST',
      path: '/api/finetune/set_custom_model',
      tag,
      summary: 'Validate and select a custom hub repository',
      body: s.repositoryBody,
      paths: { repo_name: 'model' },
      bodyExample: { repo_name: 'Qwen/Qwen3-0.6B' },
      responses: {
        200: { description: 'The model is selected', schema: s.selectedCustomModel },
        400: refused,
        403: noAccess,
        502: noHub,
      },
      handle: async ({ body }) => {
        await underName(['body', 'repo_name'], () => selection.checkModel(body.repo_name));
        await selection.chooseModel(body.repo_name, true);
        return {
          success: true,
          selected_model: body.repo_name,
          message: `Custom model ${body.repo_name} is selected`,
          valid: true,
          repo_name: body.repo_name,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/finetune/session',
      tag,
      summary: 'Current selection',
      responses: { 200: { description: 'The selection', schema: s.session } },
      handle: () => {
        const { task, selectedModel, isCustomModel } = selection.session();
        return { success: true, task, selected_model: selectedModel, is_custom_model: isCustomModel };
      },
    }),
  ];
}
