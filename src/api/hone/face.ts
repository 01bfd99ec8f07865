import type { Services } from '../../domain/services.ts';
import { errorReply } from '../../http/error-reply.ts';
import { type Face, withExamples } from '../../http/route.ts';
import { answeringRoutes } from './answering.ts';
import { baseModelRoutes } from './base-models.ts';
import { choiceRoutes } from './choices.ts';
import { datasetRoutes } from './datasets.ts';
import { evaluationRoutes } from './evaluations.ts';
import { hardwareRoutes } from './hardware.ts';
import { importRoutes } from './imports.ts';
import { jobRoutes } from './jobs.ts';
import { keyRoutes } from './keys.ts';
import { modelExportRoutes } from './model-exports.ts';
import { modelRoutes } from './models.ts';
import { moveRoutes } from './move.ts';
import { examples } from './openapi-examples.ts';
import { playgroundRoutes } from './playground.ts';
import * as s from './schemas.ts';
import { serviceRoutes } from './service.ts';
import { sessionRoutes } from './session.ts';
import { sweepRoutes } from './sweeps.ts';

/** Our own routes, beyond the specification. */
export function createHoneFace(services: Services, openApi: () => Readonly<Record<string, unknown>>) {
  return {
    name: 'hone',
    routes: withExamples(
      [
        ...jobRoutes(services),
        ...datasetRoutes(services),
        ...importRoutes(services),
        ...choiceRoutes(services),
        ...baseModelRoutes(services),
        ...hardwareRoutes(services),
        ...modelRoutes(services),
        ...modelExportRoutes(services),
        ...answeringRoutes(services),
        ...moveRoutes(services),
        ...playgroundRoutes(services),
        ...sweepRoutes(services),
        ...evaluationRoutes(services),
        ...keyRoutes(services),
        ...sessionRoutes(services),
        ...serviceRoutes(services, openApi),
      ],
      examples,
    ),
    presentError: errorReply,
    error: s.error,
  } satisfies Face;
}
