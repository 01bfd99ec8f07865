/** A number that changes how tokens are drawn, and that a request may leave out. */
export interface SamplingParameter {
  /** Its name in the API. */
  readonly field: string;
  readonly min: number;
  readonly max: number;
  /** With it, which is the default, nothing changes. */
  readonly neutral: number;
  readonly isInteger?: boolean;
}

/**
 * The sampling parameters besides temperature and top_p, as OpenAI's API, llama.cpp and vLLM have them. The request schema, the
 * messages to the process that holds a model, and the refusal by models that llama.cpp does not run follow from a row;
 * `inference/worker/sampling.ts` applies it.
 */
export const samplingParameters = {
  /** Subtracted from the logit of each token of the answer so far. */
  presencePenalty: { field: 'presence_penalty', min: -2, max: 2, neutral: 0 },
  /** The same, as often as the token occurs. */
  frequencyPenalty: { field: 'frequency_penalty', min: -2, max: 2, neutral: 0 },
  /** Divides the positive logits of all tokens of the prompt and the answer so far, and multiplies the negative ones. */
  repetitionPenalty: { field: 'repetition_penalty', min: 0.1, max: 10, neutral: 1 },
  /** Only so many of the most likely tokens; 0 and -1 stand for all. */
  topK: { field: 'top_k', min: -1, max: 1_000_000, neutral: 0, isInteger: true },
  /** Only tokens with at least this share of the most likely one's probability. */
  minP: { field: 'min_p', min: 0, max: 1, neutral: 0 },
} as const satisfies Readonly<Record<string, SamplingParameter>>;

export type SamplingName = keyof typeof samplingParameters;
/** The name of a parameter in the API. */
export type SamplingField = (typeof samplingParameters)[SamplingName]['field'];

export const samplingNames = Object.keys(samplingParameters) as SamplingName[];
