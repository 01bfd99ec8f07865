import * as v from 'valibot';

const text = v.string();
const or = <S extends v.GenericSchema>(schema: S) => v.nullish(schema, null);
const number = v.number();
/** `auto`, a number, or what a later version may have. */
const hyperparameters = v.record(text, v.unknown());
const methodDetail = or(v.looseObject({ hyperparameters: or(hyperparameters) }));

/** A file, as in OpenAI's API reference. */
export const sourceFile = v.object({
  id: text,
  filename: v.nullish(text, ''),
  purpose: v.nullish(text, ''),
  bytes: v.nullish(number, 0),
  created_at: v.nullish(number, 0),
});
export type SourceFile = v.InferOutput<typeof sourceFile>;

/** A fine-tuning job, as in OpenAI's API reference. */
export const sourceJob = v.object({
  id: text,
  created_at: v.nullish(number, 0),
  finished_at: or(number),
  status: v.nullish(text, ''),
  model: v.nullish(text, ''),
  fine_tuned_model: or(text),
  training_file: text,
  validation_file: or(text),
  result_files: v.nullish(v.array(text), []),
  seed: or(number),
  user_provided_suffix: or(text),
  suffix: or(text),
  hyperparameters: or(hyperparameters),
  method: or(
    v.looseObject({
      type: text,
      supervised: methodDetail,
      dpo: methodDetail,
      reinforcement: or(
        v.looseObject({
          hyperparameters: or(hyperparameters),
          grader: or(v.record(text, v.unknown())),
          response_format: or(v.record(text, v.unknown())),
        }),
      ),
    }),
  ),
});
export type SourceJob = v.InferOutput<typeof sourceJob>;

export const sourceCheckpoint = v.object({
  step_number: number,
  metrics: v.nullish(v.record(text, v.nullable(v.unknown())), {}),
});

/** An eval, a run or an output item, whose further fields are for the caller to read. */
export const sourceObject = v.looseObject({ id: text });
export type SourceObject = v.InferOutput<typeof sourceObject>;

/** A page of a list. */
export const listPage = v.object({ data: v.array(v.unknown()), has_more: v.nullish(v.boolean(), false) });
