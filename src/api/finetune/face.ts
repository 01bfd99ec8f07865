import type { Services } from '../../domain/services.ts';
import { type Face, withExamples } from '../../http/route.ts';
import { presentError } from './errors.ts';
import { modelRoutes } from './models.ts';
import { examples } from './openapi-examples.ts';
import { playgroundRoutes } from './playground.ts';
import { recommendationRoutes } from './recommendation.ts';
import * as s from './schemas.ts';
import { selectionRoutes } from './selection.ts';
import { trainingRoutes } from './training.ts';
import { validationRoutes } from './validation.ts';

/** The `/api/finetune` set: string ids, errors as `{detail}`. */
export function createFinetuneFace(services: Services) {
  return {
    name: 'finetune',
    routes: withExamples(
      [
        ...validationRoutes(services),
        ...recommendationRoutes(services),
        ...selectionRoutes(services),
        ...trainingRoutes(services),
        ...modelRoutes(services),
        ...playgroundRoutes(services),
      ],
      examples,
    ),
    presentError,
    error: s.error,
  } satisfies Face;
}
