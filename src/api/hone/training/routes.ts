import { defaultQuantizations, quantizationTypes } from '../../../contract/models/quantizations.ts';
import { profiles } from '../../../contract/profiles.ts';
import { hasCuda } from '../../../domain/machine/machine.ts';
import type { Services } from '../../../domain/services.ts';
import { needsCuda } from '../../../domain/training/setting-rules.ts';
import {
  trainingExample,
  trainingPaths,
  trainingRequest,
} from '../../../domain/training/training-request.ts';
import { route } from '../../../http/route.ts';
import { refused, tag } from '../common.ts';
import { presentPlan, presentRecommended } from './presenters.ts';
import * as s from './schemas.ts';

const wordsOf = ({ name, label, description }: { name: string; label: string; description: string }) => ({
  name,
  label,
  description,
});

/** Options for a training request, and the resources that it would need. */
export function choiceRoutes({ expectTraining, machine, planner, registry }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/choices',
      tag,
      access: 'train',
      summary:
        'Tasks, strategies and providers, and the values of optim, lr_scheduler_type and export.quantizations',
      responses: { 200: { description: 'The values', schema: s.choices } },
      handle: async () => {
        const [{ tasks, strategies, providers, optimizers, lr_scheduler_types }, here] = await Promise.all([
          registry.get(),
          machine(),
        ]);
        return {
          tasks: tasks.map((task) => ({
            ...wordsOf(task),
            row_shape: task.row_shape,
            row_shapes: task.row_shapes,
          })),
          strategies: strategies.map((strategy) => ({
            ...wordsOf(strategy),
            row_shape: strategy.row_shape,
            tasks: strategy.tasks,
          })),
          providers: providers.map(wordsOf),
          optimizers: hasCuda(here) ? optimizers : optimizers.filter((name) => !needsCuda(name)),
          lr_scheduler_types,
          quantizations: quantizationTypes,
          default_quantizations: [...defaultQuantizations],
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/recommendations',
      tag,
      access: 'train',
      summary: `Recommended models for a task, best first, with reasons and training memory (profiles: ${profiles.join(', ')})`,
      query: s.recommendationsQuery,
      responses: { 200: { description: 'The models', schema: s.recommendations }, 400: refused },
      handle: async ({ query }) => {
        expectTraining();
        await registry.checkTask(query.task);
        const profile = query.profile ?? (await machine()).profile;
        const recommended = await planner.recommend(profile, query.task);
        return { profile, recommendations: recommended.map(presentRecommended) };
      },
    }),
    route({
      method: 'POST',
      path: '/api/estimate',
      tag,
      access: 'train',
      summary: 'Estimate the memory and disk space of a training run, with advice if it does not fit',
      body: trainingRequest,
      paths: trainingPaths,
      bodyExample: trainingExample,
      responses: { 200: { description: 'The estimate', schema: s.estimate }, 400: refused },
      handle: async ({ body }) => {
        expectTraining();
        return presentPlan(await planner.plan(body));
      },
    }),
  ];
}
