import type { Services } from '../../domain/services.ts';
import { type Face, withExamples } from '../../http/route.ts';
import { completionRoutes } from './completions/routes.ts';
import { storedCompletionRoutes } from './completions/stored-routes.ts';
import { embeddingRoutes } from './embeddings.ts';
import { presentError } from './errors.ts';
import { evalExamples } from './evals/examples.ts';
import { evalRoutes } from './evals/routes.ts';
import { evalRunRoutes } from './evals/run-routes.ts';
import { fileRoutes } from './fine-tuning/file-routes.ts';
import { graderRoutes } from './fine-tuning/grader-routes.ts';
import { fineTuningRoutes } from './fine-tuning/job-routes.ts';
import { modelRoutes } from './models.ts';
import { examples } from './openapi-examples.ts';
import { responseRoutes } from './responses/routes.ts';
import { error } from './schemas.ts';

/** `/v1`: the OpenAI-compatible API. A model is named by its name or either id. */
export function createOpenAiFace(services: Services) {
  return {
    name: 'openai',
    root: '/v1',
    requestIds: true,
    routes: withExamples(
      [
        ...modelRoutes(services),
        ...completionRoutes(services),
        ...storedCompletionRoutes(services),
        ...responseRoutes(services),
        ...embeddingRoutes(services),
        ...fileRoutes(services),
        ...fineTuningRoutes(services),
        ...graderRoutes(services),
        ...evalRoutes(services),
        ...evalRunRoutes(services),
      ],
      { ...examples, ...evalExamples },
    ),
    presentError,
    error,
  } satisfies Face;
}
