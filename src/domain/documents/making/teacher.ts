import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import { AppError } from '../../../errors.ts';
import type { ModelReferences } from '../../fine-tuning/model-references.ts';
import type { Playground } from '../../playground/playground.ts';
import type { RemoteAnswer, RemoteModels } from '../../remote-models/remote-models.ts';

/** What a model is asked. */
export interface Question {
  /** As requests to `/v1` name it. */
  readonly model: string;
  readonly prompt: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly temperature: number;
  readonly seed: number;
  readonly maxTokens: number;
}

export interface TaughtAnswer {
  readonly text: string;
  readonly end: 'stop' | 'length' | 'refusal';
  readonly promptTokens: number;
  readonly answerTokens: number;
}

/** Asks a model of this machine or of another service, and again where it fails or is busy. */
export interface Teacher {
  /** @throws AppError `not_found` for an unknown name. */
  requireModel(name: string): void;
  /** @throws AppError `invalid` for a request that is not accepted; others if it fails again and again. */
  ask(question: Question, signal: AbortSignal): Promise<TaughtAnswer>;
}

export interface TeacherOptions {
  readonly modelReferences: Pick<ModelReferences, 'resolve' | 'remoteOf'>;
  readonly remoteModels: Pick<RemoteModels, 'ask'>;
  readonly playground: Pick<Playground, 'generate'>;
  /** The first wait before a model is asked again; each one is twice as long. */
  readonly backoffMs: number;
}

/** So often a question is asked that fails, and one of a model that has too much to do. */
const attempts = { failed: 4, busy: 10 } as const;
const longestWaitMs = 60_000;
/** English has about so many characters in a token. */
export const charactersPerToken = 4;
const tokensOf = (text: string) => Math.ceil(text.length / charactersPerToken);

const content = v.union([
  v.string(),
  v.pipe(
    v.array(v.looseObject({ text: v.optional(v.string(), '') })),
    v.transform((parts) => parts.map(({ text }) => text).join('')),
  ),
]);
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const completion = v.pipe(
  v.string(),
  v.parseJson(),
  v.looseObject({
    choices: v.pipe(
      v.array(
        v.looseObject({
          message: v.looseObject({ content: v.nullish(content), refusal: v.nullish(v.string()) }),
          finish_reason: v.nullish(v.string()),
        }),
      ),
      v.minLength(1),
    ),
    usage: v.fallback(v.nullish(v.object({ prompt_tokens: count, completion_tokens: count })), null),
  }),
);

async function readRemote(answer: RemoteAnswer, prompt: string): Promise<TaughtAnswer> {
  const body = await answer.text();
  const { success, output } = v.safeParse(completion, body);
  if (!success)
    throw /"error"/.test(body)
      ? answer.failed(body)
      : answer.garbage('answered with what is no chat completion');
  const [choice] = output.choices;
  const { message, finish_reason: reason } = choice as NonNullable<typeof choice>;
  const text = message.content ?? '';
  const isRefusal = Boolean(message.refusal) || reason === 'content_filter' || text.trim() === '';
  return {
    text,
    end: isRefusal ? 'refusal' : reason === 'length' ? 'length' : 'stop',
    promptTokens: output.usage?.prompt_tokens ?? tokensOf(prompt),
    answerTokens: output.usage?.completion_tokens ?? tokensOf(text),
  };
}

export function createTeacher({
  modelReferences,
  remoteModels,
  playground,
  backoffMs,
}: TeacherOptions): Teacher {
  /** All requests about one source are one conversation, for an alias that is split. */
  const conversationOf = (prompt: string) => JSON.stringify(prompt);

  async function once(question: Question, signal: AbortSignal): Promise<TaughtAnswer> {
    const { model, prompt, schema, temperature, seed, maxTokens } = question;
    const remote = modelReferences.remoteOf(model, conversationOf(prompt));
    const messages = [{ role: 'user', content: prompt }];
    if (remote !== null) {
      const body = {
        model: remote.model,
        messages,
        temperature,
        seed,
        max_tokens: maxTokens,
        response_format: { type: 'json_schema', json_schema: { name: 'rows', strict: true, schema } },
      };
      return remoteModels.ask(remote, '/chat/completions', body, signal, (answer) =>
        readRemote(answer, prompt),
      );
    }
    const answer = await playground.generate(
      {
        ...modelReferences.resolve(model, conversationOf(prompt)),
        input: { kind: 'messages', messages },
        schema,
        temperature,
        seed,
        maxTokens,
        topP: 1,
        caller: 'document rows',
      },
      { signal },
    );
    const { text, finishReason, promptTokens, generatedTokens: answerTokens } = answer;
    return { text, end: finishReason === 'length' ? 'length' : 'stop', promptTokens, answerTokens };
  }

  return {
    requireModel(name) {
      if (modelReferences.remoteOf(name) === null) modelReferences.resolve(name);
    },
    async ask(question, signal) {
      let failed = 0;
      let busy = 0;
      for (;;) {
        try {
          return await once(question, signal);
        } catch (thrown) {
          signal.throwIfAborted();
          if (!(thrown instanceof AppError)) throw thrown;
          const { kind, details } = thrown;
          const isBusy = kind === 'too_many' && details.code !== 'insufficient_quota';
          if (isBusy) busy += 1;
          else if (kind === 'upstream' || kind === 'unavailable') failed += 1;
          else throw thrown;
          if (failed >= attempts.failed || busy >= attempts.busy) throw thrown;
          const asked = Number(details.retryAfterSeconds ?? 0) * 1000;
          const waitMs = Math.max(asked, backoffMs * 2 ** (failed + busy - 1));
          await sleep(Math.min(waitMs, longestWaitMs), undefined, { signal });
        }
      }
    },
  };
}
