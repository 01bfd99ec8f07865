import {
  type getLlama,
  type LlamaGrammar,
  LlamaGrammarEvaluationState,
  type LlamaModel,
  type SequenceEvaluateOptions,
  type Token,
  TokenBias,
} from 'node-llama-cpp';
import { AppError } from '../../errors.ts';
import type { GenerateOrder, ToolUse } from '../protocol/generation.ts';
import { readJsonSchema } from '../schema/read-schema.ts';
import type { ToolStyle } from '../template/tool-styles.ts';
import { begunCall, callGrammar, headOf } from './call-grammar.ts';

type Options = (answer: readonly Token[]) => SequenceEvaluateOptions;
type Llama = Awaited<ReturnType<typeof getLlama>>;
/** The bounds of OpenAI's API stand for a ban and for the only choice. */
const mostBias = 100;
/** The penalties look back at so many tokens of the answer. */
const mostPunished = 4096;

async function grammarOf(schema: NonNullable<GenerateOrder['schema']>, llama: Llama) {
  const { rules, faults } = readJsonSchema(schema);
  const [first] = faults;
  if (first !== undefined) {
    throw new AppError('invalid', `The schema cannot be used at "${first.path}": ${first.message}.`);
  }
  return llama.createGrammar({ grammar: rules.join('\n') });
}

function biasOf(
  order: GenerateOrder,
  model: LlamaModel,
  vocabulary: number,
  banned: readonly number[],
): TokenBias | undefined {
  const biases = Object.entries(order.logitBias);
  if (biases.length === 0 && banned.length === 0) return undefined;
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
  // llama.cpp's grammars take such a token for its text, which the answer would lack.
  for (const token of banned) bias.set(token as Token, 'never');
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
 * How the tokens of an answer are chosen. One that must be a call goes on from what every call begins with.
 *
 * @param prompt its tokens, which `repetitionPenalty` counts
 * @param vocabulary the number of the model's tokens
 * @param hidden its control tokens that do not end an answer and that its text lacks
 * @param style how an answer has calls of the request's tools, if there are any
 * @throws AppError `invalid` for a token that the model has not or that cannot be biased, a schema that cannot be used, or
 *   penalties that cannot be combined
 */
export async function samplingOf(
  order: GenerateOrder,
  prompt: readonly Token[],
  llama: Llama,
  model: LlamaModel,
  vocabulary: number,
  hidden: readonly number[],
  style: ToolStyle | null,
): Promise<{
  readonly sampling: Options;
  readonly hasGrammar: boolean;
  /** How tokens are chosen from where an answer has begun a call whose arguments must follow a schema. */
  readonly late: ((text: string) => Promise<Options | null>) | null;
}> {
  const [freeBias, heldBias] = [[], hidden].map((banned) => biasOf(order, model, vocabulary, banned));
  const use = (order.input.kind === 'messages' && order.input.tools) || null;
  const repeatPenalty = penaltyOf(order, prompt);
  const seed = order.seed ?? Math.floor(Math.random() * 2 ** 32);
  const by = (grammar: LlamaGrammar | null): Options => {
    const tokenBias = grammar === null ? freeBias : heldBias;
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
  };
  // What must be a call is no other JSON.
  const answer = (use?.choice === 'auto' && order.schema) || undefined;
  const calling = async (written: string) =>
    llama.createGrammar({
      grammar: callGrammar(style as ToolStyle, use as ToolUse, written, answer),
    });
  if (use === null || style === null) {
    const grammar = order.schema && (await grammarOf(order.schema, llama));
    return { sampling: by(grammar), hasGrammar: grammar !== null, late: null };
  }
  if (use.choice !== 'auto' || answer !== undefined)
    return {
      sampling: by(await calling(answer === undefined ? headOf(style) : '')),
      hasGrammar: true,
      late: null,
    };
  const late = async (text: string) => {
    const written = begunCall(style, text);
    return written === null ? null : by(await calling(written));
  };
  return { sampling: by(null), hasGrammar: false, late: use.strict.length > 0 ? late : null };
}
