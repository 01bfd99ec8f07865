import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { getLlama, LlamaContext, LlamaContextSequence, LlamaModel, Token } from 'node-llama-cpp';
import { AppError } from '../errors.ts';
import { answerLead } from './answer-lead.ts';
import { type GgufFile, readGguf } from './gguf.ts';
import { createPieces } from './pieces.ts';
import type { ToWorker } from './protocol.ts';
import { readTemplate, type StoredTemplate } from './render.ts';
import { createTextStream } from './text-stream.ts';
import { threadsFor } from './threads.ts';

type Llama = Awaited<ReturnType<typeof getLlama>>;
type Order = Extract<ToWorker, { type: 'generate' }>;

export interface Answer {
  text: string;
  promptTokens: number;
  generatedTokens: number;
  finishReason: 'stop' | 'length' | 'aborted';
  timeToFirstTokenMs: number;
  durationMs: number;
}

/** Initial limit of the context, in tokens. A request that needs more makes it grow. */
const firstContextTokens = 8192;
/** The most contexts at a time, one per set of adapters: the model, its base model and two checkpoints. */
const mostRooms = 4;
/** Long prompts are evaluated in batches of this many tokens; a request can be aborted between them. */
const promptChunkTokens = 512;

interface Room {
  context: LlamaContext;
  sequence: LlamaContextSequence;
  tokens: number;
}

/** A model in memory: its vocabulary, its template and, per adapter setting, one cached sequence. */
export interface LoadedModel {
  /** Sets whether a training is running; takes effect at the next evaluation. */
  setTraining(active: boolean): void;
  /** Answers one request; requests must not overlap. @throws AppError `invalid` when the prompt is too long. */
  generate(order: Order, signal: AbortSignal, onText: (delta: string) => void): Promise<Answer>;
}

/** Loads a checked GGUF; calls `onStep` for each part that is loaded, and later evaluated. @throws AppError `invalid` when llama.cpp rejects it. */
export async function loadModel(
  llama: Llama,
  ggufPath: string,
  templatePath: string,
  trainingActive: boolean,
  onStep: () => void,
): Promise<LoadedModel> {
  const file = await readGguf(ggufPath);
  const template = await readTemplate(templatePath);
  let model: LlamaModel;
  try {
    model = await llama.loadModel({ modelPath: ggufPath, onLoadProgress: onStep });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AppError('invalid', `llama.cpp cannot load the model file ${basename(ggufPath)}: ${reason}`, {
      cause,
    });
  }
  const { size } = await stat(ggufPath);
  const loaded = createLoadedModel(llama, model, file, template, size, onStep);
  loaded.setTraining(trainingActive);
  return loaded;
}

function createLoadedModel(
  llama: Llama,
  model: LlamaModel,
  file: GgufFile,
  template: StoredTemplate,
  bytes: number,
  onStep: () => void,
): LoadedModel {
  const pieces = createPieces(file);
  const encoder = new TextEncoder();
  const lead = pieces === null ? '' : answerLead(template, (text) => model.tokenize(text, true), pieces);
  const longest = Math.min(
    file.contextLength ?? firstContextTokens,
    template.contextLength ?? Number.POSITIVE_INFINITY,
  );
  const rooms = new Map<string, Room>();

  /** Ensures a context of at least `wanted` tokens, if the model supports that many. */
  async function roomFor(adapters: Order['adapters'], wanted: number): Promise<Room> {
    const key = JSON.stringify(adapters);
    const known = rooms.get(key);
    // Deleted also to become the newest again.
    rooms.delete(key);
    if (known !== undefined && (known.tokens >= wanted || known.tokens >= longest)) {
      rooms.set(key, known);
      return known;
    }
    await known?.context.dispose();
    for (const [oldest, room] of [...rooms].slice(0, Math.max(0, rooms.size + 1 - mostRooms))) {
      rooms.delete(oldest);
      await room.context.dispose();
    }
    const tokens = Math.min(longest, Math.max(firstContextTokens, 2 ** Math.ceil(Math.log2(wanted))));
    const most = llama.maxThreads;
    // the binding keeps the smaller of the two permanently, and the training may end soon
    llama.maxThreads = Math.max(most, llama.cpuMathCores);
    try {
      const context = await model.createContext({
        contextSize: tokens,
        batchSize: Math.min(tokens, 512),
        threads: llama.cpuMathCores,
        ...(adapters.length === 0
          ? {}
          : { lora: { adapters: adapters.map(({ path, scale }) => ({ filePath: path, scale })) } }),
      });
      const room = { context, sequence: context.getSequence(), tokens };
      rooms.set(key, room);
      return room;
    } finally {
      llama.maxThreads = most;
    }
  }

  function promptOf(order: Order): Token[] {
    if (order.input.kind === 'messages') return model.tokenize(template.render(order.input.messages), true);
    const tokens = model.tokenize(order.input.text, true);
    const { bos } = model.tokens;
    // raw text gets the same beginning-of-text token as in training, unless it already has one
    if (model.tokens.shouldPrependBosToken && bos !== null && tokens[0] !== bos) tokens.unshift(bos);
    return tokens;
  }

  return {
    setTraining(active) {
      llama.maxThreads = threadsFor({ bytes, cores: llama.cpuMathCores, trainingActive: active });
    },
    async generate(order, signal, onText) {
      const started = performance.now();
      const prompt = promptOf(order);
      if (prompt.length === 0) throw new AppError('invalid', 'The prompt is empty.');
      if (prompt.length >= longest) {
        throw new AppError(
          'invalid',
          `The prompt has ${prompt.length} tokens, but the model's context holds ${longest}, including the answer. Shorten the prompt.`,
          { details: { promptTokens: prompt.length, contextTokens: longest } },
        );
      }
      const room = await roomFor(order.adapters, prompt.length + order.maxTokens);
      const limit = Math.min(order.maxTokens, room.tokens - prompt.length);
      const isAnswer = order.input.kind === 'messages';
      const stops = isAnswer ? [...template.stop, ...order.stop] : order.stop;
      const stopTokens = new Set<number>();
      for (const stop of stops) {
        const [token, ...rest] = model.tokenize(stop, true);
        if (token !== undefined && rest.length === 0 && file.tokens[token] === stop) stopTokens.add(token);
      }
      const stream = createTextStream(stops, isAnswer ? lead : '');
      const { sequence } = room;
      let text = '';
      let generated = 0;
      let firstMs: number | null = null;
      let finishReason: Answer['finishReason'] = 'stop';
      const show = (delta: string): void => {
        if (delta === '') return;
        text += delta;
        onText(delta);
      };

      // the cached prefix of this prompt is kept; the last token must be evaluated again
      await sequence.adaptStateToTokens(prompt.slice(0, -1), false);
      while (!signal.aborted && prompt.length - sequence.nextTokenIndex > promptChunkTokens) {
        const from = sequence.nextTokenIndex;
        await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(from, from + promptChunkTokens));
        onStep();
      }
      if (signal.aborted) {
        const durationMs = performance.now() - started;
        const counts = { promptTokens: prompt.length, generatedTokens: 0 };
        return { text, ...counts, finishReason: 'aborted', timeToFirstTokenMs: durationMs, durationMs };
      }
      const tokens = sequence.evaluate(prompt.slice(sequence.nextTokenIndex), {
        temperature: order.temperature,
        topP: order.topP,
        topK: 0,
        seed: order.seed ?? Math.floor(Math.random() * 2 ** 32),
      });
      const before: Token[] = [];
      let ended = false;
      try {
        while (!signal.aborted && generated < limit) {
          const next = await tokens.next();
          onStep();
          if (next.done) {
            ended = true;
            break;
          }
          firstMs ??= performance.now() - started;
          const token = next.value;
          if (stopTokens.has(token)) {
            ended = true;
            break;
          }
          generated += 1;
          const bytes = pieces?.(token) ?? encoder.encode(model.detokenize([token], false, before.slice(-8)));
          if (pieces === null) before.push(token);
          const shown = stream.push(bytes);
          show(shown.text);
          if (shown.stopped) {
            ended = true;
            break;
          }
        }
      } finally {
        await tokens.return();
      }
      if (!ended) finishReason = signal.aborted ? 'aborted' : 'length';
      show(stream.end());
      const durationMs = performance.now() - started;
      return {
        text,
        promptTokens: prompt.length,
        generatedTokens: generated,
        finishReason,
        timeToFirstTokenMs: firstMs ?? durationMs,
        durationMs,
      };
    },
  };
}
