import * as v from 'valibot';
import {
  type SamplingField,
  type SamplingParameter,
  samplingNames,
  samplingParameters,
} from '../../../contract/sampling.ts';
import {
  scaleBound,
  stepBound,
  temperatureBound,
  topPBound,
} from '../../../domain/playground/generation-bounds.ts';
import { about } from '../../../http/openapi.ts';
import { modelName, notList, or } from '../schemas.ts';

/** OpenAI's defaults, except for the length, where OpenAI's is the whole context. */
export const defaults = { maxTokens: 1024, temperature: 1, topP: 1 };
/** As many answers as a model gives together. */
const mostAnswers = 8;
/** Each token has an entry; OpenAI's own bound. */
const mostBiases = 1024;

/** Far more than OpenAI's four: evaluation tasks and agents have lists of their own. */
const mostStops = 256;

const stopText = v.pipe(v.string(), v.minLength(1), v.maxLength(1000));
const between = (least: number, most: number) =>
  v.pipe(
    v.number(),
    v.minValue(least, `must be at least ${least}`),
    v.maxValue(most, `must be at most ${most}`),
  );
export const wholeBetween = (least: number, most: number) =>
  v.pipe(between(least, most), v.integer('must be a whole number'));
const logitBias = v.pipe(
  v.intersect([
    v.record(
      v.pipe(v.string(), v.regex(/^\d{1,10}$/, 'must be the ID of a token, in digits')),
      between(-100, 100),
    ),
    notList,
  ]),
  v.check((biases) => Object.keys(biases).length <= mostBiases, `must have at most ${mostBiases} tokens`),
);
/** A field that may have one value alone. */
export const only = <const V extends string | number | boolean>(value: V, message: string) =>
  or(v.literal(value, message));

const sampling = Object.fromEntries(
  samplingNames.map((name) => {
    const { field, min, max, isInteger, help }: SamplingParameter = samplingParameters[name];
    return [field, about(or(isInteger ? wholeBetween(min, max) : between(min, max)), help)];
  }),
) as unknown as Readonly<Record<SamplingField, ReturnType<typeof or<ReturnType<typeof between>>>>>;

/** Fields that every request for an answer has. */
export const common = {
  model: modelName,
  temperature: about(
    or(temperatureBound),
    `How freely tokens are drawn; 0 takes the likeliest. Default: ${defaults.temperature}.`,
  ),
  top_p: about(
    or(topPBound),
    `Only the likeliest tokens that have this probability together. Default: ${defaults.topP}.`,
  ),
  stop: about(
    or(v.union([stopText, v.pipe(v.array(stopText), v.maxLength(mostStops))])),
    'Texts that end the answer.',
  ),
  seed: about(or(v.pipe(v.number(), v.integer())), 'Draws the same tokens again.'),
  n: or(wholeBetween(1, mostAnswers)),
  ...sampling,
  /** As vLLM has it. */
  ignore_eos: or(v.boolean()),
  logit_bias: or(logitBias),
  stream: or(v.boolean()),
  stream_options: or(v.intersect([v.object({ include_usage: or(v.boolean()) }), notList])),
  /** Hone's own field: with `false`, nothing that earlier requests evaluated of the prompt is used. */
  cache: or(v.boolean()),
  checkpoint: about(or(stepBound), "Hone's own field: answer with the weights of this step."),
  scale: about(
    or(scaleBound),
    "Hone's own field: the strength of what the training changed; 0 is the base model.",
  ),
  /** Hone's own field: adds the change of another model, or of its checkpoint, of the same base. */
  blend: or(v.strictObject({ model: modelName, checkpoint: or(stepBound), scale: or(scaleBound) })),
  file: about(
    or(v.pipe(v.string(), v.regex(/^\w{1,32}$/, 'must be the name of a quantization, such as Q4_0'))),
    "Hone's own field: answer with the model's file of this quantization, such as Q4_0.",
  ),
  /** It says who asks, and changes no answer. */
  user: or(v.string()),
};

/** The values of these fields. */
export type CommonFields = v.InferOutput<v.ObjectSchema<typeof common, undefined>>;
