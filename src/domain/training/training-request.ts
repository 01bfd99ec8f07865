import * as v from 'valibot';
import { quantizationTypes } from '../../contract/models/quantizations.ts';
import { profiles } from '../../contract/profiles.ts';
import {
  derivedText,
  mayBeNull,
  type Setting,
  type SettingName,
  type Settings,
  type SettingValues,
  settingNames,
  settings,
} from '../../contract/settings.ts';
import { trackerNames, usualProject } from '../../contract/training/trackers.ts';
import { jsonSchemaFormat } from '../graders/answer-schema.ts';
import { graderDefinition, noArray } from '../graders/grader-definition.ts';

const text = (max: number) => v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(max));
const or = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema));
const about = <S extends v.GenericSchema>(schema: S, text: string) => v.pipe(schema, v.description(text));

/** A single action, so that a value that breaks the rule gets only one message. */
const whole = (what: string) => v.integer<number, string>(`${what} must be a whole number`);

function numberSchema(
  name: SettingName,
  setting: Extract<Setting, { min: number }>,
): v.GenericSchema<number> {
  const { kind, min, max, above, below, special } = setting;
  if (special !== undefined && max !== undefined) {
    const msg = `${name} must be ${special.value} (${special.meaning}) or from ${min} to ${max}`;
    // Two checks of the lower bound: a value fails at most one, and the first appears in the API description.
    return v.pipe(
      v.number(),
      v.minValue(special.value, msg),
      v.check((value) => value <= special.value || value >= min, msg),
      v.maxValue(max, msg),
      whole(name),
    );
  }
  const low = above
    ? v.gtValue<number, number, string>(min, `${name} must be greater than ${min}`)
    : v.minValue<number, number, string>(min, `${name} must be at least ${min}`);
  const high =
    max === undefined
      ? v.finite<number, string>('must be a finite number')
      : below
        ? v.ltValue<number, number, string>(max, `${name} must be less than ${max}`)
        : v.maxValue<number, number, string>(max, `${name} must be at most ${max}`);
  return kind === 'integer' ? v.pipe(v.number(), low, high, whole(name)) : v.pipe(v.number(), low, high);
}

/** A grader with its weight. */
const weighted = v.pipe(
  v.strictObject({
    name: v.optional(text(64)),
    grader: v.optional(graderDefinition),
    weight: v.optional(v.pipe(v.number(), v.minValue(-100), v.maxValue(100))),
  }),
  v.check(
    ({ name, grader }) => (name === undefined) !== (grader === undefined),
    'must have either the "name" of a stored grader, or a definition in "grader"',
  ),
);
/** A prompt with a test of its answer. */
const tested = (maxLength: number) =>
  v.pipe(
    v.strictObject({
      prompt: text(maxLength),
      reference: v.optional(text(maxLength)),
      grader: v.optional(textOr(64, graderDefinition)),
      threshold: v.optional(v.pipe(v.number(), v.finite('must be a finite number'))),
      item: v.optional(v.intersect([v.record(v.string(), v.unknown()), noArray])),
    }),
    v.check(
      ({ grader, reference }) => grader !== undefined || reference !== undefined,
      'must have a "grader" or a "reference", or be the prompt alone',
    ),
  );
/** A text, or this; what is wrong with an object is told by its place. */
function textOr<S extends v.GenericSchema>(max: number, object: S) {
  const either = v.union([text(max), object]);
  const run: (typeof either)['~run'] = (dataset, config) =>
    typeof dataset.value === 'object'
      ? (object['~run'](dataset, config) as ReturnType<(typeof either)['~run']>)
      : either['~run'](dataset, config);
  return { ...either, '~run': run };
}

/** White space at an end would be lost in forms, and control characters and half characters are no text. */
const tokenRule = 'must be a text without line breaks, other control characters, and white space at its ends';
const isToken = (value: string) => value === value.trim() && !/[\p{Cc}\p{Cs}]/u.test(value);

function namesSchema(name: SettingName, setting: Extract<Setting, { kind: 'names' | 'prompts' }>) {
  const { items, areTokens, minItems, maxItems, maxLength } = setting;
  const plain = text(maxLength);
  const item: v.GenericSchema<string> =
    items !== undefined
      ? v.picklist(items)
      : areTokens
        ? v.pipe(
            plain,
            v.check((value) => isToken(value), tokenRule),
          )
        : plain;
  const least = areTokens ? 'must have at least one text' : 'must name at least one module';
  const list = v.pipe(v.array(item), v.minLength(minItems, least), v.maxLength(maxItems));
  if (items === undefined && !areTokens) return list;
  return v.pipe(
    list,
    v.check((values) => new Set(values).size === values.length, `${name} has a text twice; name each once`),
  );
}

const projectRule =
  'must have up to 64 letters, digits, spaces, and the characters _ . -, and begin with one of _, a letter or a digit';
/** The name of a project of a tracker. */
export const trackerProject = v.pipe(v.string(), v.regex(/^\w[\w .-]{0,63}$/, projectRule));
/** The schema of a setting's values. */
export const settingSchema = (name: SettingName): v.GenericSchema => schemaOf(name, settings[name]);

function schemaOf(name: SettingName, setting: Setting): v.GenericSchema {
  switch (setting.kind) {
    case 'integer':
    case 'number':
      return numberSchema(name, setting);
    case 'switch':
      return v.boolean();
    case 'choice':
    case 'text':
      return setting.choices === undefined ? text(setting.maxLength ?? 64) : v.picklist(setting.choices);
    case 'prompts':
      return v.pipe(
        v.array(textOr(setting.maxLength, tested(setting.maxLength))),
        v.maxLength(setting.maxItems),
      );
    case 'names':
      return namesSchema(name, setting);
    case 'graders':
      return v.pipe(v.array(textOr(64, weighted)), v.minLength(1), v.maxLength(setting.maxItems));
    case 'format':
      return jsonSchemaFormat;
  }
}

/** What a setting does and, if another setting determines it, how. */
function descriptionOf({ help, derivedFrom }: Setting): string {
  const otherwise = derivedFrom && derivedText(derivedFrom, (name) => name);
  return otherwise === undefined ? help : `${help} Default: ${otherwise}.`;
}

type OptionalField<T> = v.OptionalSchema<v.NullableSchema<v.GenericSchema<T>, undefined>, undefined>;
const settingFields = Object.fromEntries(
  settingNames.map((name) => {
    const field = or(schemaOf(name, settings[name]));
    return [name, v.pipe(field, v.description(descriptionOf(settings[name])))];
  }),
) as unknown as { [N in SettingName]: OptionalField<SettingValues[N]> };

/** The values of all settings, as recommended for a machine. */
export const settingsSchema = v.object(
  Object.fromEntries(
    settingNames.map((name) => {
      const field = schemaOf(name, settings[name]);
      return [name, mayBeNull(settings[name]) ? v.nullable(field) : field];
    }),
  ) as unknown as { [N in SettingName]: v.GenericSchema<Settings[N]> },
);

/**
 * The training request of both API sets. A field that is absent or null takes its recommended value; unknown fields are
 * rejected by name.
 */
export const trainingRequest = v.strictObject({
  task: about(text(64), 'What is learned, such as text-generation.'),
  model_name: about(
    text(1024),
    'The base model: owner/name on the hub, a folder, a GGUF file, or the folder of an adapter. Or what to go on from: a model that was trained here (name or model_id), or its checkpoint, such as train_7@120.',
  ),
  merge_adapter: v.pipe(
    or(v.boolean()),
    v.description(
      'Whether the adapter in the folder `model_name`, which is alone there or beside weights, or that of a model that was trained here, is merged into its base before the training. Default: false.',
    ),
  ),
  dataset: about(text(4096), 'A stored dataset, or the path of a JSONL file.'),
  validation_dataset: v.pipe(
    or(text(4096)),
    v.description(
      'A dataset to validate on, with rows like those of `dataset`; instead of a part of it (`eval_split`).',
    ),
  ),
  provider: about(or(text(64)), 'What trains, such as standard or accelerated. Default: standard.'),
  strategy: about(or(text(64)), 'How it learns, such as sft or dpo. Default: sft.'),
  queue: about(or(v.boolean()), 'Wait for the run that is active instead of being refused. Default: false.'),
  compute_specs: about(
    or(v.picklist(profiles)),
    "The profile whose recommended values are the defaults. Default: this machine's.",
  ),
  ...settingFields,
  export: about(
    or(
      v.union(
        [
          v.literal('none'),
          v.strictObject({
            quantizations: v.pipe(
              v.array(v.picklist(quantizationTypes)),
              v.minLength(1),
              v.maxLength(quantizationTypes.length),
            ),
          }),
        ],
        `export must be "none" or {"quantizations": […]} with some of ${quantizationTypes.join(', ')}`,
      ),
    ),
    'The GGUF files that are made: `{quantizations: [Q8_0, Q4_K_M]}`, or none. Default: Q8_0, where llama.cpp runs the model.',
  ),
  report_to: about(
    or(v.pipe(v.array(v.picklist(trackerNames)), v.maxLength(trackerNames.length))),
    'Trackers that get the figures of the run, beside TensorBoard; `hone track add` installs them. Default: none.',
  ),
  project: about(or(trackerProject), `The project of the run in these trackers. Default: ${usualProject}.`),
});

export type TrainingRequest = v.InferOutput<typeof trainingRequest>;

/** The readable fields of a request; `refused` names those that the schema rejects. */
export interface ReadRequest {
  readonly fields: Partial<TrainingRequest>;
  readonly refused: ReadonlySet<string>;
}

/** Its fields that may name a file or folder of this machine. */
export const trainingPaths = {
  model_name: 'model',
  reward_model: 'model',
  teacher: 'model',
  dataset: 'file',
  validation_dataset: 'file',
} as const;

/** An example request for the API description. */
export const trainingExample = {
  task: 'text-generation',
  model_name: 'Qwen/Qwen3-0.6B',
  dataset: 'support.jsonl',
  num_train_epochs: 3,
  learning_rate: 2e-4,
  eval_split: 0.1,
};
