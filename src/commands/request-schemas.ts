/** The requests that commands send, as JSON schemas: their flags and help are made of these. Built into `dist/requests.json`. */
import { pushBody } from '../api/finetune/schemas.ts';
import { makingBody } from '../api/hone/documents/schemas.ts';
import { listQuery, logQuery } from '../api/hone/jobs/schemas.ts';
import { catalogQuery, remoteModelBody } from '../api/hone/models/schemas.ts';
import { chatBody } from '../api/openai/completions/bodies.ts';
import { evaluationPaths, evaluationRequest } from '../domain/evaluations/evaluation-request.ts';
import { trainingPaths, trainingRequest } from '../domain/training/training-request.ts';
import { schemaOf } from '../http/openapi.ts';

export const requests = {
  train: { schema: schemaOf(trainingRequest), paths: Object.keys(trainingPaths) },
  eval: { schema: schemaOf(evaluationRequest), paths: Object.keys(evaluationPaths) },
  chat: { schema: schemaOf(chatBody), paths: [] },
  rows: { schema: schemaOf(makingBody), paths: [] },
  push: { schema: schemaOf(pushBody), paths: [] },
  model: { schema: schemaOf(remoteModelBody), paths: [] },
  models: { schema: schemaOf(catalogQuery), paths: [] },
  runs: { schema: schemaOf(listQuery), paths: [] },
  logs: { schema: schemaOf(logQuery), paths: [] },
};
