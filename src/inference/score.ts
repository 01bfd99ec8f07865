/**
 * A program for the check after an export: scores token sequences with a GGUF and tokenizes texts with its vocabulary.
 * Reads one JSON request on stdin and writes one JSON response to stdout, with lines of its progress before it if asked.
 * On error it writes a JSON object `{code, message}` to stderr and exits with code 1.
 */
import { stat } from 'node:fs/promises';
import { getLlama, type Llama, LlamaLogLevel, type Token } from 'node-llama-cpp';
import * as v from 'valibot';
import { threadsFor } from './worker/threads.ts';

const tokenIds = v.array(v.pipe(v.number(), v.integer(), v.minValue(0)));

const scoreRequest = v.strictObject({
  gguf: v.string(),
  /** The file may contain only a vocabulary; then only tokenization is possible. */
  vocabularyOnly: v.optional(v.boolean(), false),
  /** LoRA adapters as GGUF files, each with its scale. */
  adapters: v.optional(v.array(v.strictObject({ path: v.string(), scale: v.number() })), []),
  /** Behind the token at each of `positions`, the tokens of the list at the same place in `ids` are scored as the next one. */
  sequences: v.array(
    v.strictObject({
      tokens: v.pipe(tokenIds, v.minLength(1)),
      positions: tokenIds,
      ids: v.array(tokenIds),
    }),
  ),
  texts: v.optional(v.array(v.string()), []),
  /** Prompts to continue with greedy decoding, each by up to `maxTokens` tokens. */
  continuations: v.optional(v.array(v.strictObject({ tokens: tokenIds, maxTokens: v.number() })), []),
  /** Tokens that end a part of a continuation, and not the continuation, as the library says of some. */
  goesOn: v.optional(tokenIds, []),
  /** Whether a line `done N` is written for each sequence and continuation. */
  tells: v.optional(v.boolean(), false),
});
export type ScoreRequest = v.InferOutput<typeof scoreRequest>;

export interface ScoreAnswer {
  /**
   * For each position of each sequence the most likely next token, and the requested log-probabilities (natural
   * logarithm), in order.
   */
  sequences: { tops: number[]; logprobs: number[][] }[];
  texts: number[][];
  continuations: number[][];
}

/** How long llama.cpp's log may take to arrive here, in milliseconds. */
const logMs = 200;

/** The errors that llama.cpp has logged. The reason for "Failed to load model" is only there. */
const complaints: string[] = [];

const loadLlama = () =>
  getLlama({
    gpu: false,
    build: 'never',
    logLevel: LlamaLogLevel.error,
    logger(_level, message) {
      complaints.push(message.trim());
      process.stderr.write(`${message.trim()}\n`);
    },
  });

/** Answers one request. Throws when the file cannot be loaded. */
async function score(llama: Llama, request: ScoreRequest): Promise<ScoreAnswer> {
  const { size } = await stat(request.gguf);
  const threads = threadsFor({ bytes: size, tokens: 1, cores: llama.cpuMathCores, trainingActive: false });
  llama.maxThreads = threads;
  const vocabOnly = request.vocabularyOnly;
  const model = await llama.loadModel({ modelPath: request.gguf, vocabOnly });
  try {
    const texts = request.texts.map((text) => model.tokenize(text, true) as number[]);
    if (vocabOnly) return { sequences: [], texts, continuations: [] };
    const longest = Math.max(
      8,
      ...request.sequences.map((sequence) => sequence.tokens.length),
      ...request.continuations.map(({ tokens, maxTokens }) => tokens.length + maxTokens),
    );
    const context = await model.createContext({
      contextSize: longest + 1,
      threads,
      batchSize: Math.min(longest + 1, 512),
      lora: { adapters: request.adapters.map(({ path, scale }) => ({ filePath: path, scale })) },
    });
    const sequence = context.getSequence();
    const scored: ScoreAnswer['sequences'] = [];
    let done = 0;
    const tell = () => {
      done += 1;
      if (request.tells) process.stdout.write(`done ${done}\n`);
    };
    for (const { tokens, positions, ids } of request.sequences) {
      await sequence.clearHistory();
      const wanted = new Map(positions.map((at, index) => [at, ids[index] ?? []]));
      const answers = await sequence.controlledEvaluate(
        tokens.map((token, at) => {
          const scoring = wanted.get(at);
          if (scoring === undefined) return token as Token;
          const filter = { tokens: scoring as Token[], includeMax: true };
          return [token as Token, { generateNext: { logits: { filter }, totalLogitWeight: true } }];
        }),
      );
      scored.push(scoresOf(positions.map((at) => scoreNext(answers[at]?.next, wanted.get(at) ?? []))));
      tell();
    }
    const continuations: number[][] = [];
    for (const { tokens, maxTokens } of request.continuations) {
      await sequence.clearHistory();
      const generated: number[] = [];
      if (maxTokens > 0) {
        const options = { temperature: 0, yieldEogToken: true };
        for await (const token of sequence.evaluate(tokens as Token[], options)) {
          if (model.isEogToken(token) && !request.goesOn.includes(token)) break;
          generated.push(token);
          if (generated.length >= maxTokens) break;
        }
      }
      continuations.push(generated);
      tell();
    }
    return { sequences: scored, texts, continuations };
  } finally {
    await model.dispose();
    await llama.dispose();
  }
}

/** What the engine says of the next token: some logits with the largest, and the sum of exp(logit − largest) over all. */
interface Next {
  readonly logits?: ReadonlyMap<Token, number>;
  readonly totalLogitWeight?: number;
}

/** The most likely next token, and the log-probabilities of `ids`. */
function scoreNext({ logits, totalLogitWeight }: Next = {}, ids: readonly number[]) {
  if (logits === undefined || totalLogitWeight === undefined)
    throw new Error('The engine returned no logits.');
  let top = -1;
  let most = Number.NEGATIVE_INFINITY;
  for (const [token, logit] of logits) {
    if (logit > most) {
      most = logit;
      top = token;
    }
  }
  const normalizer = most + Math.log(totalLogitWeight);
  return {
    top,
    logprobs: ids.map((id) => {
      const logit = logits.get(id as Token);
      if (logit === undefined) throw new Error(`The vocabulary has no token ${id}.`);
      return logit - normalizer;
    }),
  };
}

const scoresOf = (scores: readonly { top: number; logprobs: number[] }[]) => ({
  tops: scores.map(({ top }) => top),
  logprobs: scores.map(({ logprobs }) => logprobs),
});

/** `--check`: loads the engine and reports its version and device. */
async function check(): Promise<void> {
  const llama = await getLlama({ gpu: 'auto', build: 'never', logLevel: LlamaLogLevel.error });
  const said = { release: llama.llamaCppRelease.release, gpu: llama.gpu, threads: llama.cpuMathCores };
  await llama.dispose();
  process.stdout.write(`${JSON.stringify(said)}\n`);
}

async function readRequest(): Promise<ScoreRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return v.parse(scoreRequest, JSON.parse(Buffer.concat(chunks).toString('utf8')));
}

async function main(): Promise<void> {
  if (process.argv[2] === '--check') return check();
  // The trainer may start this program before it has the file.
  const answer = await score(...(await Promise.all([loadLlama(), readRequest()])));
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(`${JSON.stringify(answer)}\n`, (error) => (error ? reject(error) : resolve()));
  });
}

main().then(
  () => process.exit(0),
  async (error: unknown) => {
    await new Promise((resolve) => setTimeout(resolve, logMs));
    const reason = complaints[0]?.replace(/^\w+: (error loading model: )*/, '');
    const said = error instanceof Error ? error.message : String(error);
    const message = reason === undefined ? said : `${said}: ${reason}`;
    process.stderr.write(`${JSON.stringify({ code: 'score_failed', message })}\n`, () => process.exit(1));
  },
);
