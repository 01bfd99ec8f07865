import { join } from 'node:path';
import * as v from 'valibot';
import { askTrainer } from './ask.ts';
import type { TrainerCommand } from './processes/supervisor.ts';
import type { JobSpec } from './protocol.ts';

/** What `python -m trainer preview` prints. */
export const preview = v.object({
  max_seq_length: v.number(),
  template_source: v.string(),
  /** Whether reasoning is learned; null for models without a chat template. */
  thinking: v.nullable(v.picklist(['keep', 'off', 'learn'])),
  /** That conversations become several sequences each. */
  warning: v.nullable(v.string()),
  /** Sequences; a conversation that its template changes has several. */
  rows: v.array(
    v.object({
      /** The row's line in the file. */
      line: v.number(),
      /** The messages of a conversation, of which those of the assistant with the weight 1 are learned. */
      messages: v.nullable(
        v.array(
          v.object({
            role: v.string(),
            content: v.string(),
            /** The reasoning of an answer, if it is trained. */
            reasoning: v.nullable(v.string()),
            /** Its calls of tools, with the JSON text of their arguments. */
            tool_calls: v.array(v.object({ name: v.string(), arguments: v.string() })),
            learned: v.boolean(),
          }),
        ),
      ),
      /** The first 4,096. */
      tokens: v.array(
        v.object({
          id: v.number(),
          /** Of tokens that share characters, the first has the text of all. */
          text: v.string(),
          /** Whether it shares a character with the token before, which has its text. */
          joined: v.boolean(),
          /** In hexadecimal, of a token that is a part of a character. */
          bytes: v.nullable(v.string()),
          labelled: v.boolean(),
          truncated: v.boolean(),
        }),
      ),
      total_tokens: v.number(),
      labelled_tokens: v.number(),
    }),
  ),
});
export type Preview = v.InferOutput<typeof preview>;

/** What `python -m trainer lengths` prints. */
export const lengths = v.object({
  max_seq_length: v.number(),
  /** The tokens of each sequence before it is truncated. */
  totals: v.array(v.number()),
  /** The tokens of the longest sequence of each row. */
  row_totals: v.array(v.number()),
  learned_share: v.nullable(v.number()),
});
export type Lengths = v.InferOutput<typeof lengths>;

/** How to ask: see `Question`. */
export type Asking = { secrets: Record<string, string> | null; timeoutMs: number; signal: AbortSignal };

/** Asks the trainer how many tokens the rows of a prepared job folder have. @throws AppError as `askTrainer` does. */
export function measureRows(command: TrainerCommand, folder: string, options: Asking): Promise<Lengths> {
  const args = ['lengths', join(folder, 'spec.json')];
  return askTrainer(command, { what: 'count of tokens', args, answer: lengths, folder, ...options });
}

/**
 * Asks the trainer how it would tokenize the first rows of a prepared job folder.
 * @param options.secrets those of a download (`downloadSecrets`), if the model may have to be downloaded.
 * @param options.signal kills the trainer process when aborted.
 * @throws AppError as `askTrainer` does.
 */
export function previewRows(
  command: TrainerCommand,
  folder: string,
  rows: number,
  options: Asking,
): Promise<Preview> {
  const args = ['preview', join(folder, 'spec.json'), '--rows', String(rows)];
  return askTrainer(command, { what: 'preview', args, answer: preview, folder, ...options });
}

/** The task and the strategy as whose model the base is asked. */
const written = v.object({ task: v.string(), strategy: v.string() });

/**
 * Has the trainer write the prompt template of a base model in a folder, as a training would choose it.
 * @param model with the folder of its files, or that of its GGUF, which need not be made.
 * @param folder where the template is written to; it exists.
 * @throws AppError as `askTrainer` does.
 */
export const writeBaseTemplate = (
  command: TrainerCommand,
  model: JobSpec['model'],
  { folder, path, signal }: { folder: string; path: string; signal: AbortSignal },
): Promise<v.InferOutput<typeof written>> =>
  askTrainer(command, {
    what: 'prompt template',
    args: ['base-template', path],
    input: JSON.stringify(model),
    answer: written,
    folder,
    secrets: null,
    timeoutMs: null,
    signal,
  });
