import * as v from 'valibot';
import { moveStates } from '../../../domain/moving/move.ts';
import { movedEval, movedFile, movedJob } from '../../../domain/moving/moved-records.ts';

/** Its own messages, because the standard ones repeat what was sent. */
const keyRule = 'must be an API key of OpenAI: up to 1024 visible ASCII characters';
const apiKey = v.pipe(v.string(keyRule), v.trim(), v.regex(/^[!-~]{1,1024}$/, keyRule));
const ids = v.optional(
  v.pipe(v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(256))), v.maxLength(10_000)),
);

export const listBody = v.strictObject({ api_key: apiKey });
export const startBody = v.strictObject({
  api_key: apiKey,
  /** Only these jobs' training and validation files, these files, and these evals; without all three, everything. */
  jobs: ids,
  files: ids,
  evals: ids,
});

const text = v.string();
export const move = v.object({
  state: v.picklist(moveStates),
  progress: v.object({
    files_done: v.number(),
    files_total: v.number(),
    bytes_done: v.number(),
    bytes_total: v.number(),
  }),
  error: v.nullable(v.object({ code: text, message: text })),
  files: v.array(movedFile),
  jobs: v.array(
    v.object({
      ...movedJob.entries,
      training_dataset: v.nullable(text),
      validation_dataset: v.nullable(text),
      /** The equal training here. */
      proposal: v.nullable(
        v.object({
          /** For `POST /api/start_training`. */
          request: v.looseObject({ task: text, model_name: text, dataset: text }),
          notes: v.array(text),
        }),
      ),
      /** Why there is no proposal. */
      problem: v.nullable(text),
    }),
  ),
  /** Those that are here are those of `/v1/evals`. */
  evals: v.array(movedEval),
});
export type Move = v.InferOutput<typeof move>;
