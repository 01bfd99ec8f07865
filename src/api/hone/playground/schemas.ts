import * as v from 'valibot';
import {
  generationDefaults,
  lengthBound,
  promptBound,
  temperatureBound,
  topPBound,
} from '../../../domain/playground/generation-bounds.ts';

export const generateBody = v.object({
  model_id: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
  prompt: promptBound,
  max_length: v.optional(lengthBound, generationDefaults.maxTokens),
  temperature: v.optional(temperatureBound, generationDefaults.temperature),
  top_p: v.optional(topPBound, generationDefaults.topP),
});

export const generated = v.object({
  generated_text: v.string(),
  prompt: v.string(),
  tokens_generated: v.pipe(v.number(), v.integer()),
  generation_time_ms: v.pipe(v.number(), v.integer()),
});

const bytes = v.pipe(v.number(), v.integer(), v.minValue(0));
export const memory = v.object({
  total_bytes: bytes,
  /** Free for models, if those that nobody uses are unloaded; `null` with a GPU. */
  free_bytes: v.nullable(bytes),
  /** Those that llama.cpp runs, newest first. */
  models: v.array(
    v.object({
      id: v.pipe(v.number(), v.integer()),
      model_id: v.string(),
      name: v.string(),
      base_model: v.string(),
      /** Equal for models that can be blended; `null` if the base is not known. */
      base: v.nullable(v.string()),
      loaded: v.boolean(),
      /** What the next request loads; `null` if the model's file cannot be read. */
      needs_bytes: v.nullable(bytes),
      fits: v.boolean(),
    }),
  ),
});

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
/** Requests that are being answered, and those that wait. */
const requests = { running: count, waiting: count };

export const figures = v.object({
  ...requests,
  /** Requests that have ended since the start of the service, and those of them that failed. */
  ended: count,
  failed: count,
  prompt_tokens: count,
  /** Tokens of prompts that were kept from earlier requests. */
  cached_tokens: count,
  generated_tokens: count,
  /** Tokens of answers that prompt lookup drafted and the model accepted. */
  guessed_tokens: count,
  /** Median of the latest 20 answers; `null` before the first. */
  first_token_ms: v.nullable(v.number()),
  /** Of the latest 20 answers, after their first tokens. */
  tokens_per_second: v.nullable(v.number()),
  /** The processes that hold models. */
  processes: v.array(
    v.object({
      /** Models that it answered for; those of one base share a process. */
      models: v.array(v.string()),
      ...requests,
      /** Resident memory; `null` before the process has told it. */
      memory_bytes: v.nullable(v.number()),
    }),
  ),
  /** What is being made: the file of a base that several models share, those of a checkpoint, or a model's missing record of its base. */
  preparing: v.nullable(
    v.object({
      kind: v.picklist(['base', 'checkpoint', 'record']),
      /** The base model, the run, or the model. */
      name: v.string(),
      /** 0 to 1; `null` until it is known. */
      progress: v.nullable(v.number()),
    }),
  ),
});

export const stopped = v.object({ stopped: v.boolean() });
