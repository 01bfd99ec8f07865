/** A number that changes how tokens are drawn, and that a request may leave out. */
export interface SamplingParameter {
  /** Its name in the API. */
  readonly field: string;
  readonly min: number;
  readonly max: number;
  /** With it, which is the default, nothing changes. */
  readonly neutral: number;
  readonly isInteger?: boolean;
  readonly help: string;
}

/**
 * The sampling parameters besides temperature and top_p, as OpenAI's API, llama.cpp and vLLM have them. The request schema, the
 * messages to the process that holds a model, and the refusal by models that llama.cpp does not run follow from a row;
 * `inference/worker/sampling.ts` applies it.
 */
export const samplingParameters = {
  presencePenalty: {
    field: 'presence_penalty',
    min: -2,
    max: 2,
    neutral: 0,
    help: 'Subtracted from the logit of each token of the answer so far.',
  },
  frequencyPenalty: {
    field: 'frequency_penalty',
    min: -2,
    max: 2,
    neutral: 0,
    help: 'Subtracted from it as often as the token occurs.',
  },
  repetitionPenalty: {
    field: 'repetition_penalty',
    min: 0.1,
    max: 10,
    neutral: 1,
    help: 'Divides the positive logits of all tokens of the prompt and the answer so far, and multiplies the negative ones.',
  },
  topK: {
    field: 'top_k',
    min: -1,
    max: 1_000_000,
    neutral: 0,
    isInteger: true,
    help: 'Only so many of the most likely tokens; 0 and -1 stand for all.',
  },
  minP: {
    field: 'min_p',
    min: 0,
    max: 1,
    neutral: 0,
    help: 'Only tokens with at least this share of the probability of the most likely one.',
  },
} as const satisfies Readonly<Record<string, SamplingParameter>>;

export type SamplingName = keyof typeof samplingParameters;
/** The name of a parameter in the API. */
export type SamplingField = (typeof samplingParameters)[SamplingName]['field'];

export const samplingNames = Object.keys(samplingParameters) as SamplingName[];
