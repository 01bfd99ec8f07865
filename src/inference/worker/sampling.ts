import {
  type getLlama,
  LlamaGrammarEvaluationState,
  type LlamaModel,
  type SequenceEvaluateOptions,
  type Token,
  TokenBias,
} from 'node-llama-cpp';
import { AppError } from '../../errors.ts';
import type { GenerateOrder } from '../protocol/generation.ts';
import type { ToolStyle } from '../template/tool-styles.ts';
import { callGrammar } from './call-grammar.ts';
import { readJsonSchema } from './json-schema.ts';

type Llama = Awaited<ReturnType<typeof getLlama>>;
/** The bounds of OpenAI's API stand for a ban and for the only choice. */
const mostBias = 100;
/** The penalties look back at so many tokens of the answer. */
const mostPunished = 4096;

async function grammarOf(grammar: NonNullable<GenerateOrder['grammar']>, llama: Llama) {
  if (grammar.kind === 'json') return llama.getGrammarFor('json');
  const { schema, faults } = readJsonSchema(grammar.schema);
  const [first] = faults;
  if (first !== undefined) {
    throw new AppError('invalid', `The schema cannot be used at "${first.path}": ${first.message}.`);
  }
  try {
    return await llama.createGrammarForJsonSchema(schema as { type: 'object' });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AppError('invalid', `The schema cannot be made a grammar: ${reason}`, { cause });
  }
}

function biasOf(order: GenerateOrder, model: LlamaModel, vocabulary: number): TokenBias | undefined {
  const biases = Object.entries(order.logitBias);
  if (biases.length === 0) return undefined;
  const bias = TokenBias.for(model);
  for (const [id, value] of biases) {
    const token = Number(id);
    if (!Number.isInteger(token) || token < 0 || token >= vocabulary) {
      throw new AppError(
        'invalid',
        `The model has no token ${token}; its tokens are 0 to ${vocabulary - 1}.`,
      );
    }
    if (model.isEogToken(token as Token)) {
      throw new AppError('invalid', `Token ${token} ends an answer and cannot be biased.`);
    }
    bias.set(token as Token, value <= -mostBias ? 'never' : { logit: value });
  }
  return bias;
}

/**
 * A seed for each token of an answer, by 32-bit mixing (the finalizer of MurmurHash3): a token is sampled the same whatever
 * was evaluated before it and taken back. One bit is left out, since the library takes the highest seed for none.
 */
export function seedAt(seed: number, position: number): number {
  let mixed = (seed ^ Math.imul(position + 1, 0x9e3779b9)) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 1;
}

type RepeatPenalty = Exclude<SequenceEvaluateOptions['repeatPenalty'], false | undefined>;

/** OpenAI's penalties count the answer's tokens, vLLM's repetition penalty the prompt's, too: the library takes one list. */
function penaltyOf(
  { presencePenalty, frequencyPenalty, repetitionPenalty, maxTokens }: GenerateOrder,
  prompt: readonly Token[],
): ((answer: readonly Token[]) => RepeatPenalty) | null {
  const ofAnswer = presencePenalty !== 0 || frequencyPenalty !== 0;
  const ofAll = repetitionPenalty !== 1;
  if (!ofAnswer && !ofAll) return null;
  if (ofAnswer && ofAll) {
    throw new AppError(
      'invalid',
      'repetition_penalty cannot be combined with presence_penalty or frequency_penalty. Leave one out.',
    );
  }
  const before = ofAll ? prompt : [];
  return (answer) => ({
    punishTokens: () => [...before, ...answer],
    maxPunishTokens: before.length + Math.min(maxTokens, mostPunished),
    penalty: repetitionPenalty,
    presencePenalty,
    frequencyPenalty,
  });
}

/**
 * How the tokens of an answer are chosen.
 *
 * @param prompt its tokens, which `repetitionPenalty` counts
 * @param vocabulary the number of the model's tokens
 * @param callsAs how the answer is a call, if it must be one
 * @throws AppError `invalid` for a token that the model has not or that cannot be biased, a schema that cannot be used, or
 *   penalties that cannot be combined
 */
export async function samplingOf(
  order: GenerateOrder,
  prompt: readonly Token[],
  llama: Llama,
  model: LlamaModel,
  vocabulary: number,
  callsAs: ToolStyle | null,
): Promise<(answer: readonly Token[]) => SequenceEvaluateOptions> {
  const tokenBias = biasOf(order, model, vocabulary);
  const use = order.input.kind === 'messages' ? order.input.tools : undefined;
  const grammar =
    callsAs !== null && use !== undefined
      ? await llama.createGrammar({ grammar: await callGrammar(callsAs, use, llama) })
      : order.grammar && (await grammarOf(order.grammar, llama));
  const repeatPenalty = penaltyOf(order, prompt);
  const seed = order.seed ?? Math.floor(Math.random() * 2 ** 32);
  return (answer) => ({
    temperature: order.temperature,
    topP: order.topP,
    topK: Math.max(0, order.topK),
    minP: order.minP,
    seed: seedAt(seed, answer.length),
    // The library's types know no `undefined`.
    ...(tokenBias === undefined ? {} : { tokenBias }),
    ...(grammar === null
      ? {}
      : { grammarEvaluationState: new LlamaGrammarEvaluationState({ model, grammar }) }),
    ...(repeatPenalty === null ? {} : { repeatPenalty: repeatPenalty(answer) }),
  });
}
