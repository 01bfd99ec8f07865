import * as v from 'valibot';
import { maximumPromptBytes } from './playground.ts';

/** Bounds of the generation parameters; the model's context length limits them further. */
export const maximumLength = 1_048_576;

export const promptBound = v.pipe(
  v.string(),
  v.minLength(1, 'must not be empty'),
  v.maxBytes(maximumPromptBytes, `must be at most ${maximumPromptBytes} bytes`),
);

export const lengthBound = v.pipe(
  v.number(),
  v.integer('must be a whole number'),
  v.minValue(1, 'must be at least 1'),
  v.maxValue(maximumLength, `must be at most ${maximumLength}`),
);

export const temperatureBound = v.pipe(
  v.number(),
  v.finite(),
  v.minValue(0, 'must be at least 0 (greedy)'),
  v.maxValue(2, 'must be at most 2'),
);

export const topPBound = v.pipe(
  v.number(),
  v.finite(),
  v.gtValue(0, 'must be greater than 0'),
  v.maxValue(1, 'must be at most 1'),
);

/** The step of a checkpoint. */
export const stepBound = v.pipe(
  v.number(),
  v.integer('must be a whole number'),
  v.minValue(1, 'must be at least 1'),
);

/** The strength of an adapter. */
export const scaleBound = v.pipe(
  v.number(),
  v.finite(),
  v.minValue(0, 'must be at least 0 (the base model)'),
  v.maxValue(2, 'must be at most 2'),
);

/** A second model or checkpoint of the same base, whose adapter is added. */
export const blendBound = v.object({
  model: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
  checkpoint: v.optional(stepBound),
  scale: v.optional(scaleBound),
});

/** Default generation parameters. */
export const generationDefaults = { maxTokens: 256, temperature: 0.7, topP: 0.9 } as const;
