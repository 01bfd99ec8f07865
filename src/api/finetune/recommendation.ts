import { profiles } from '../../contract/profiles.ts';
import type { Services } from '../../domain/services.ts';
import { route } from '../../http/route.ts';
import { refused, tag } from './documented.ts';
import * as s from './schemas.ts';
import { underName } from './under-name.ts';

/** The machine, and the models that are recommended for it. */
export function recommendationRoutes({ machine, registry, selection }: Services) {
  const recommend = async (task: string) => {
    await registry.checkTask(task);
    const here = await machine();
    return { here, ...selection.recommend(here.profile, task) };
  };
  return [
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
