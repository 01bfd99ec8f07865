import * as assert from 'uvu/assert';
import { journalOf } from '../jobs/journal.ts';
import type { Json, TestService } from '../service.ts';
import { untilEnded } from '../service.ts';

/*
 * Tiny models that train on conversations of different shapes through the service, and answer in their own template.
 */

/** The shapes, in the order of the table in docs/conversations.md. */
export const shapes = ['single', 'multi-turn', 'weights', 'preferences'] as const;
export type Shape = (typeof shapes)[number];

interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
  readonly weight?: 0 | 1;
}

const texts = {
  shipping: ['My parcel has not come.', 'The box arrived broken.', 'Where is my order?'],
  billing: ['I was charged twice.', 'My invoice is wrong.', 'The card was refused.'],
  access: ['I cannot log in.', 'The password link is dead.', 'My account is locked.'],
};
const teams = Object.keys(texts) as (keyof typeof texts)[];
/** The answer that must not be learned. */
const wrong = 'team: nobody';

const turn = (index: number): [Message, Message] => {
  const team = teams[index % 3] as keyof typeof texts;
  const content = texts[team][Math.floor(index / 3) % 3] as string;
  return [
    { role: 'user', content },
    { role: 'assistant', content: `team: ${team}` },
  ];
};

/** Conversation number `index` of a shape, with its learned answer last. */
function conversation(shape: Shape, index: number, system: readonly Message[]): Message[] {
  if (shape === 'single') return turn(index);
  const [asked, answer] = turn(index + 1);
  const earlier =
    shape === 'weights' ? [asked, { ...answer, content: wrong, weight: 0 as const }] : [asked, answer];
  return [...system, ...earlier, ...turn(index * 2)];
}

function row(shape: Shape, index: number, system: readonly Message[]): unknown {
  const messages = conversation(shape, index, system);
  if (shape !== 'preferences') return { messages };
  const rejected = [{ role: 'assistant', content: wrong }];
  return { prompt: messages.slice(0, -1), chosen: messages.slice(-1), rejected };
}

/** What a model answered. */
export interface Outcome {
  /** Sequences that the conversations became where there are more than conversations; otherwise `null`. */
  readonly sequences: number | null;
  /** Of the conversations that were asked, how many had the answer of their row. */
  readonly right: number;
  readonly asked: number;
}

/**
 * Trains the model at `path` on conversations of a shape and asks it for their answers. Asserts that the training and
 * the check of the exported file succeed, and after supervised fine-tuning that every answer is one that is learned,
 * complete with its end.
 * @param hasSystem whether the conversations begin with a system message.
 */
export async function trainAndAsk(
  service: TestService,
  { path, shape, hasSystem }: { readonly path: string; readonly shape: Shape; readonly hasSystem: boolean },
): Promise<Outcome> {
  const system: Message[] = hasSystem ? [{ role: 'system', content: 'You sort messages.' }] : [];
  const dataset = `${shape}-${hasSystem ? 'with' : 'without'}-system.jsonl`;
  const lines = Array.from({ length: 36 }, (_, index) => JSON.stringify(row(shape, index, system)));
  const uploaded = await service.upload(dataset, `${lines.join('\n')}\n`);
  assert.is(uploaded.status, 200, JSON.stringify(uploaded.body));
  const isPreference = shape === 'preferences';
  const started = await service.call('POST', '/api/start_training', {
    ...{ task: 'text-generation', model_name: path, dataset, strategy: isPreference ? 'dpo' : 'sft' },
    ...{ max_steps: isPreference ? 4 : 80, per_device_train_batch_size: 12, gradient_accumulation_steps: 1 },
    ...{ learning_rate: 0.01, lora_r: 16, lora_alpha: 32, lora_dropout: 0, max_seq_length: 128 },
    ...{ warmup_ratio: 0, lr_scheduler_type: 'linear', seed: 1, device: 'cpu', use_4bit: false, bf16: false },
  });
  assert.is(started.status, 200, JSON.stringify(started.body));
  const ended = await untilEnded(service);
  assert.is(ended.status, 'completed', JSON.stringify(ended));
  const job: Json = (await service.call('GET', `/api/jobs/${started.body.job_id}`)).body;
  assert.is(job.verification?.passed, true, JSON.stringify(job.verification));
  const split = journalOf(service.dataDir, started.body.job_id).find(
    ({ code }) => code === 'conversations_split',
  );
  const { models } = (await service.call('GET', '/api/models')).body;
  const model = String(Math.max(...models.map(({ id }: Json) => id)));

  let right = 0;
  const asked = 6;
  for (let index = 0; index < asked; index++) {
    const messages = conversation(shape, index, system).map(({ role, content }) => ({ role, content }));
    const expected = messages.pop()?.content;
    const answer = await service.call('POST', '/v1/chat/completions', {
      ...{ model, messages, temperature: 0, max_tokens: 16 },
    });
    assert.is(answer.status, 200, JSON.stringify(answer.body));
    const [{ message, finish_reason: end }] = answer.body.choices;
    const said = message.content;
    if (!isPreference) {
      assert.is(end, 'stop');
      assert.ok(
        teams.some((team) => said === `team: ${team}`),
        message.content,
      );
    }
    if (said === expected) right += 1;
  }
  return {
    sequences: split === undefined ? null : Number(/as ([\d,]+) sequences/.exec(split.message)?.[1]),
    right,
    asked,
  };
}
