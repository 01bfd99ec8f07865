import { hasCuda } from '../../domain/machine.ts';
import { profiles } from '../../domain/profile.ts';
import type { Services } from '../../domain/services.ts';
import { needsCuda } from '../../domain/settings.ts';
import { trainingExample, trainingRequest } from '../../domain/training-request.ts';
import { type ResponseDoc, route } from '../../http/route.ts';
import { presentPlan, presentRecommended } from './presenters.ts';
import * as s from './schemas.ts';
import { tag } from './tag.ts';

const refused: ResponseDoc = { description: 'The request is not valid', schema: s.error };

/** What can be chosen for a training, and what a choice would need of the machine. */
export function choiceRoutes({ catalog, machine, planner }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/choices',
      tag,
      summary: 'The names that optim, lr_scheduler_type and export.quantizations accept here',
      responses: { 200: { description: 'The names', schema: s.choices } },
      handle: async () => {
        const [{ optimizers, lr_scheduler_types }, here] = await Promise.all([catalog.get(), machine()]);
        return {
          optimizers: hasCuda(here) ? optimizers : optimizers.filter((name) => !needsCuda(name)),
          lr_scheduler_types,
          quantizations: s.quantizations,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/recommendations',
      tag,
      summary: `Models for a task, best first, with reasons and the memory that a training of each takes (profiles: ${profiles.join(', ')})`,
      query: s.recommendationsQuery,
      responses: { 200: { description: 'The models', schema: s.recommendations }, 400: refused },
      handle: async ({ query }) => {
        await catalog.checkTask(query.task);
        const profile = query.profile ?? (await machine()).profile;
        const recommended = await planner.recommend(profile, query.task);
        return { profile, recommendations: recommended.map(presentRecommended) };
      },
    }),
    route({
      method: 'POST',
      path: '/api/estimate',
      tag,
      summary: 'What memory and disk a training would need, and what to change if it does not fit',
      body: trainingRequest,
      bodyExample: trainingExample,
      responses: { 200: { description: 'The estimate', schema: s.estimate }, 400: refused },
      handle: async ({ body }) => presentPlan(await planner.plan(body)),
    }),
  ];
}
