import { startedMessage } from '../../domain/job.ts';
import { userPrompt } from '../../domain/playground.ts';
import { profiles } from '../../domain/profile.ts';
import type { Services } from '../../domain/services.ts';
import { trainingExample, trainingRequest } from '../../domain/training-request.ts';
import { rendered } from '../../http/rendered.ts';
import { type Face, type ResponseDoc, route, withExamples } from '../../http/route.ts';
import { presentError } from './errors.ts';
import { examples } from './examples.ts';
import { presentDetailed, presentListed, presentReduced, presentStatus } from './presenters.ts';
import * as s from './schemas.ts';
import { underName } from './under-name.ts';

const tag = 'finetune';
const modelIdExample = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
const refused: ResponseDoc = { description: 'The request is not valid', schema: s.error };
const noModel: ResponseDoc = { description: 'There is no such model', schema: s.error };
const noAccess: ResponseDoc = {
  description: 'The model is missing, or permission is lacking',
  schema: s.error,
};
const noHub: ResponseDoc = { description: 'The model hub cannot be reached', schema: s.error };

/** The `/api/finetune` set: string ids, errors as `{detail}`. */
export function createFinetuneFace(services: Services) {
  return {
    name: 'finetune',
    routes: withExamples([...training(services), ...models(services)], examples),
    presentError,
    error: s.error,
  } satisfies Face;
}

function training(services: Services) {
  const { catalog, jobs, machine, selection } = services;
  const status = rendered(presentStatus);
  const recommend = async (task: string) => {
    await catalog.checkTask(task);
    const here = await machine();
    return { here, ...selection.recommend(here.profile, task) };
  };
  return [
    route({
      method: 'POST',
      path: '/api/finetune/validate_task',
      tag,
      summary: 'Check a task, and choose it',
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
      summary: 'Ask the hub (or look at a local folder) whether a model can be used',
      body: s.selectedModelBody,
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
      summary: 'Ask the hub about a custom repository',
      body: s.repositoryBody,
      bodyExample: { repo_name: 'Qwen/Qwen3-0.6B' },
      responses: {
        200: { description: 'The repository is accessible', schema: s.validatedCustomModel },
        400: refused,
        403: noAccess,
        502: noHub,
      },
      handle: async ({ body }) => {
        const info = await underName(['body', 'repo_name'], () => selection.checkModel(body.repo_name));
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
      summary: 'Detect the hardware, and recommend a model for a task',
      body: s.taskBody,
      bodyExample: { task: 'text-generation' },
      responses: { 200: { description: 'The machine and a model for it', schema: s.detected }, 400: refused },
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
      summary: 'Choose a model',
      body: s.selectedModelBody,
      bodyExample: { selected_model: 'Qwen/Qwen3-0.6B' },
      responses: { 200: { description: 'The model is chosen', schema: s.selectedModel }, 400: refused },
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
      summary: 'Check a custom repository, and choose it',
      body: s.repositoryBody,
      bodyExample: { repo_name: 'Qwen/Qwen3-0.6B' },
      responses: {
        200: { description: 'The model is chosen', schema: s.selectedCustomModel },
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
      summary: 'What has been chosen so far',
      responses: { 200: { description: 'The selection', schema: s.session } },
      handle: () => {
        const { task, selectedModel, isCustomModel } = selection.session();
        return { success: true, task, selected_model: selectedModel, is_custom_model: isCustomModel };
      },
    }),
    route({
      method: 'GET',
      path: '/api/finetune/load_settings',
      tag,
      summary: 'Recommended training settings for this machine',
      responses: { 200: { description: 'The settings', schema: s.settings } },
      handle: async () => {
        const settings = (await services.recommendedSettings()) as s.RecommendedSettings;
        return { ...settings, bf16: settings.bf16 ?? false };
      },
    }),
    route({
      method: 'POST',
      path: '/api/finetune/start_training',
      tag,
      summary: 'Start a training',
      body: trainingRequest,
      bodyExample: trainingExample,
      responses: {
        200: { description: 'The training has been started', schema: s.started },
        400: { description: 'The request or its dataset is not valid', schema: s.error },
        404: { description: 'There is no such dataset', schema: s.error },
        409: { description: 'A training is already in progress', schema: s.error },
      },
      handle: async ({ body }) => {
        const job = await jobs.start(body);
        return { success: true, message: startedMessage(job), job_id: `train_${job.id}` };
      },
    }),
    route({
      method: 'GET',
      path: '/api/finetune/status',
      tag,
      summary: 'How the training stands',
      responses: { 200: { description: 'The status', schema: s.status } },
      handle: () => status(jobs.current()),
    }),
    route({
      method: 'POST',
      path: '/api/finetune/reset_status',
      tag,
      summary: 'Acknowledge a finished training',
      responses: {
        200: { description: 'The status is idle, unless a training runs', schema: s.acknowledged },
      },
      handle: () => ({
        success: true,
        message: jobs.acknowledge()
          ? 'The status has been reset'
          : 'A training is running; its status stays as it is',
      }),
    }),
    route({
      method: 'GET',
      path: '/api/finetune/hardware_specs',
      tag,
      summary: 'What this machine is',
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
      summary: `Models for a task and this machine's profile (${profiles.join(', ')})`,
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

function models(services: Services) {
  const { catalog, hubPush, models: store, playground } = services;
  return [
    route({
      method: 'GET',
      path: '/api/models/',
      tag,
      summary: 'All models, newest first',
      responses: { 200: { description: 'The models', schema: s.listedModels } },
      handle: () => store.list().map(presentListed),
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id}',
      tag,
      summary: 'One model',
      responses: { 200: { description: 'The model', schema: s.detailedModel }, 404: noModel },
      handle: ({ params }) => presentDetailed(store.find(params.model_id)),
    }),
    route({
      method: 'GET',
      path: '/api/models/task/{task}',
      tag,
      summary: 'The models of a task',
      responses: { 200: { description: 'The models', schema: s.reducedModels }, 400: refused },
      handle: async ({ params }) => {
        await underName(['path', 'task'], () => catalog.checkTask(params.task));
        return store.list(params.task).map(presentReduced);
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/models/{model_id}',
      tag,
      summary: 'Delete a model and its files',
      responses: {
        200: { description: 'The model is deleted', schema: s.acknowledged },
        404: noModel,
        409: { description: 'The model is in use', schema: s.error },
      },
      handle: async ({ params }) => {
        const model = await store.remove(params.model_id);
        return { success: true, message: `Model ${model.name} has been deleted` };
      },
    }),
    route({
      method: 'POST',
      path: '/api/hub/push',
      tag,
      summary:
        'Push a model to the hub (private unless told otherwise); what is there already is not sent again',
      body: s.pushBody,
      bodyExample: { model_id: modelIdExample, repo_name: 'owner/name', private: true },
      responses: {
        200: { description: 'The hub has the model', schema: s.pushed },
        400: refused,
        403: { description: 'The token is missing or may not write there', schema: s.error },
        404: noModel,
        409: { description: 'It is being pushed, or the repository is public', schema: s.error },
        502: noHub,
      },
      handle: async ({ body }) => {
        const { repoUrl, message } = await hubPush.push({
          model: body.model_id,
          repository: body.repo_name,
          isPrivate: body.private,
        });
        return { success: true, message, repo_url: repoUrl };
      },
    }),
    route({
      method: 'GET',
      path: '/api/playground/model_path',
      tag,
      summary: 'Where the file lies that answers for a model',
      query: s.modelPathQuery,
      responses: { 200: { description: 'The path', schema: s.modelPath }, 400: refused, 404: noModel },
      handle: ({ query }) => {
        const { model, path } = playground.modelFile(query.model_id);
        return { model_path: path, model_id: model.modelId };
      },
    }),
    route({
      method: 'POST',
      path: '/api/playground/new',
      tag,
      summary: 'Generate text with a model',
      body: s.generateBody,
      bodyExample: {
        model_id: modelIdExample,
        prompt: 'My parcel has not come.',
        max_length: 128,
        temperature: 0.7,
        top_p: 0.9,
      },
      responses: { 200: { description: 'The text', schema: s.generated }, 400: refused, 404: noModel },
      handle: async ({ body, exchange }) => {
        const result = await playground.generate(
          {
            model: body.model_id,
            input: userPrompt(body.prompt),
            maxTokens: body.max_length,
            temperature: body.temperature,
            topP: body.top_p,
          },
          { signal: exchange.signal },
        );
        return {
          generated_text: result.text,
          prompt: body.prompt,
          tokens_generated: result.generatedTokens,
          generation_time_ms: Math.round(result.durationMs),
        };
      },
    }),
  ];
}
