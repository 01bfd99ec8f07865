import { profiles } from '../../contract/profiles.ts';
import type { Services } from '../../domain/services.ts';
import { route } from '../../http/route.ts';
import { noAccess, noHub, refused, tag } from './documented.ts';
import * as s from './schemas.ts';
import { underName } from './under-name.ts';

/** The task, the model and the machine to train it on. */
export function selectionRoutes({ machine, registry, selection }: Services) {
  const recommend = async (task: string) => {
    await registry.checkTask(task);
    const here = await machine();
    return { here, ...selection.recommend(here.profile, task) };
  };
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
    route({
      method: 'POST',
      path: '/api/finetune/detect',
      tag,
      summary: 'Detect the hardware and recommend a model for a task',
      body: s.taskBody,
      bodyExample: { task: 'text-generation' },
      responses: {
        200: { description: 'The hardware and the recommended model', schema: s.detected },
        400: refused,
      },
      handle: async ({ body }) => {
        const { here, recommended, possible } = await recommend(body.task);
        await selection.chooseTask(body.task);
        const { facts, profile } = here;
        return {
          status_code: 200,
          profile,
          task: body.task,
          gpu_name: facts.gpuName,
          gpu_total_memory_gb: here.vramGb,
          ram_total_gb: here.ramGb,
          available_diskspace_gb: here.diskFreeGb,
          cpu_cores: facts.cpuCoresLogical,
          model_recommendation: recommended,
          possible_options: possible,
          hardware_specs: {
            gpu_name: facts.gpuName,
            gpu_memory_gb: here.vramGb,
            ram_gb: here.ramGb,
            cuda_version: facts.cudaVersion,
          },
          compute_profile: profile,
          recommended_model: recommended,
          possible_models: possible,
        };
      },
    }),
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
    route({
      method: 'GET',
      path: '/api/finetune/hardware_specs',
      tag,
      summary: 'Hardware specifications',
      responses: { 200: { description: 'The hardware', schema: s.hardwareSpecs } },
      handle: async () => {
        const { facts, vramGb, ramGb, diskFreeGb } = await machine();
        return {
          gpu_name: facts.gpuName,
          gpu_memory_gb: vramGb,
          ram_gb: ramGb,
          disk_space_gb: diskFreeGb,
          cpu_cores: facts.cpuCoresLogical,
          cuda_version: facts.cudaVersion,
          torch_version: facts.torchVersion,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/finetune/recommended_models/{task}',
      tag,
      summary: `Recommended models for a task on this machine (profiles: ${profiles.join(', ')})`,
      responses: {
        200: { description: 'The models, best first', schema: s.recommendedModels },
        400: refused,
      },
      handle: async ({ params }) => {
        const task = params.task;
        const { here, recommended, possible } = await underName(['path', 'task'], () => recommend(task));
        return {
          task,
          recommended_model: recommended,
          possible_models: possible,
          compute_profile: here.profile,
        };
      },
    }),
  ];
}
