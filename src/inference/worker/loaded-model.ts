import { basename } from 'node:path';
import type { getLlama, LlamaModel, Token } from 'node-llama-cpp';
import { AppError } from '../../errors.ts';
import type { Answer, Question } from '../batching/answering.ts';
import { createContexts } from '../batching/contexts.ts';
import { createScheduler } from '../batching/scheduler.ts';
import { createTextStream } from '../batching/text-stream.ts';
import { type GgufFile, ggufBytes, readWholeGguf } from '../gguf/gguf.ts';
import type { GenerateOrder } from '../protocol/generation.ts';
import type { ToWorker } from '../protocol/messages.ts';
import { joinTokens } from '../template/join-tokens.ts';
import { leadingSpace } from '../template/leading-space.ts';
import { readTemplate, type StoredTemplate } from '../template/render.ts';
import { headOf } from './call-grammar.ts';
import { createContention } from './contention.ts';
import { createEmbeddings, type Embeddings } from './embeddings.ts';
import { samplingOf } from './sampling.ts';
import { threadsFor } from './threads.ts';
import { createTokenBytes } from './token-bytes.ts';

const noTokens: ReadonlySet<number> = new Set();
const everyToken = { has: () => true };

/** llama.cpp's type of tokens that are hidden in texts. */
const controlToken = 3;

type Llama = Awaited<ReturnType<typeof getLlama>>;
type EmbedOrder = Pick<Extract<ToWorker, { type: 'embed' }>, 'inputs' | 'templatePath'>;

/** The context of a model that does not tell its own, in tokens. */
const unknownContextTokens = 8192;

/** A model in memory: its vocabulary, templates and, per adapter setting, cached sequences. */
export interface LoadedModel {
  /** Sets whether a training is running; takes effect at the next evaluation. */
  setTraining(active: boolean): void;
  /** Answers one request, together with others. @throws AppError `invalid` when the prompt is too long. */
  generate(
    order: GenerateOrder,
    signal: AbortSignal,
    onText: Question['onText'],
    onBegun: () => void,
  ): Promise<Answer>;
  /** The vectors of texts or tokens. @throws AppError `invalid` when one is empty or too long. */
  embed(order: EmbedOrder, signal: AbortSignal): Promise<Embeddings>;
}

/** Loads a checked GGUF; calls `onStep` for each part that is loaded, and later evaluated. @throws AppError `invalid` when llama.cpp rejects it. */
export async function loadModel(
  llama: Llama,
  ggufPath: string,
  trainingActive: boolean,
  onStep: () => void,
): Promise<LoadedModel> {
  const file = await readWholeGguf(ggufPath);
  let model: LlamaModel;
  try {
    model = await llama.loadModel({ modelPath: ggufPath, onLoadProgress: onStep });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AppError('invalid', `llama.cpp cannot load the model file ${basename(ggufPath)}: ${reason}`, {
      cause,
    });
  }
  const loaded = createLoadedModel(llama, model, file, await ggufBytes(ggufPath), onStep);
  loaded.setTraining(trainingActive);
  return loaded;
}

const isReasoning = (template: StoredTemplate, { input }: GenerateOrder, text: string): boolean =>
  input.kind === 'messages' && template.isReasoning(text, input.thinking);

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share one model with its contexts
function createLoadedModel(
  llama: Llama,
  model: LlamaModel,
  file: GgufFile,
  bytes: number,
  onStep: () => void,
): LoadedModel {
  const tokenBytes = createTokenBytes(file);
  const encoder = new TextEncoder();
  const contextTokens = file.contextLength ?? unknownContextTokens;
  let trainingActive = false;
  const contention = createContention();
  /** Sets the threads of the next step; the result is called when it has ended. */
  const prepare = (tokens: number, contexts = 1): (() => void) => {
    const began = performance.now();
    const isContended = contention.isContended(began);
    const cores = llama.cpuMathCores;
    const threads = threadsFor({ bytes, tokens, contexts, cores, trainingActive, isContended });
    llama.maxThreads = threads;
    // A GPU leaves the cores idle, and the CPU time of several contexts cannot be told apart.
    if (llama.gpu !== false || contexts > 1 || threads === 1) return () => undefined;
    const before = process.cpuUsage();
    return () => {
      const now = performance.now();
      const { user, system } = process.cpuUsage(before);
      contention.add({ threads, wallMs: now - began, cpuMs: (user + system) / 1000 }, now);
    };
  };
  const embeddings = createEmbeddings(llama, model, contextTokens, file.tokens.length, prepare, onStep);
  const scheduler = createScheduler(
    createContexts(llama, model, {
      longest: contextTokens,
      weights: bytes,
      perToken: file.cacheBytesPerToken,
    }),
    prepare,
    onStep,
  );
  const known = new Map<string, ReturnType<typeof readUsed>>();

  /** A template, what this model's answers to it begin with, and the most tokens of both. */
  async function readUsed(path: string) {
    const template = await readTemplate(path);
    const lead =
      tokenBytes === null ? '' : leadingSpace(template, (text) => model.tokenize(text, true), tokenBytes);
    return {
      template,
      lead,
      tags: tagsOf(template.tags),
      toolTags: tagsOf(template.tags + (template.toolStyle?.tokens ?? '')),
      longest: Math.min(contextTokens, template.contextLength ?? contextTokens),
    };
  }

  function templateAt(path: string): ReturnType<typeof readUsed> {
    const used = known.get(path) ?? readUsed(path);
    known.set(path, used);
    used.catch(() => known.delete(path));
    return used;
  }

  /** @param head what the answer to messages begins with. */
  function promptOf(order: GenerateOrder, template: StoredTemplate, head: string): Token[] {
    const { input } = order;
    const tokenize = (text: string) => model.tokenize(template.normalize(text), true);
    if (input.kind === 'messages') {
      const { messages, thinking, continues, tools } = input;
      const { prompt, rest } = continues
        ? template.renderBegun(messages, thinking, tools?.tools)
        : { prompt: template.render(messages, thinking, tools?.tools), rest: '' };
      return joinTokens({ prompt, rest: rest + head }, tokenize);
    }
    if (input.kind === 'tokens') {
      const unknown = input.tokens.find((token) => token >= file.tokens.length);
      if (unknown === undefined) return input.tokens as Token[];
      throw new AppError(
        'invalid',
        `The model has no token ${unknown}; its tokens are 0 to ${file.tokens.length - 1}.`,
        { details: { field: 'prompt' } },
      );
    }
    const tokens =
      input.suffix === undefined ? tokenize(input.text) : infilling(tokenize, input.text, input.suffix);
    const { bos } = model.tokens;
    // raw text gets the same beginning-of-text token as in training, unless it already has one
    if (model.tokens.shouldPrependBosToken && bos !== null && tokens[0] !== bos) tokens.unshift(bos);
    return tokens;
  }

  /** The prompt for what stands between two texts, in the order prefix, suffix, middle, as llama.cpp has it. */
  function infilling(tokenize: (text: string) => Token[], before: string, after: string): Token[] {
    const { prefix, suffix, middle } = model.tokens.infill;
    if (prefix === null || suffix === null || middle === null) {
      throw new AppError(
        'invalid',
        "The model's tokenizer has no infilling tokens, which suffix needs. Leave suffix out.",
        { details: { field: 'suffix' } },
      );
    }
    return [prefix, ...tokenize(before), suffix, ...tokenize(after), middle];
  }

  /** The text of a prompt. */
  function textOf({ input }: GenerateOrder, prompt: readonly Token[], bytesOf: Question['bytesOf']): string {
    if (input.kind === 'text') return input.text;
    const bytes = prompt.map((token, at) => bytesOf(token, prompt.slice(Math.max(0, at - 8), at)));
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(bytes));
  }

  const hidden = file.tokenTypes.flatMap((type, token) =>
    type === controlToken && !model.isEogToken(token as Token) ? [token] : [],
  );

  /** The control tokens that `tags` has, with their texts. */
  function tagsOf(tags: string): Map<number, Uint8Array> {
    const found = new Map<number, Uint8Array>();
    for (const [token, text] of file.tokens.entries())
      if (text !== '' && file.tokenTypes[token] === controlToken && tags.includes(text))
        found.set(token, encoder.encode(text));
    return found;
  }

  /** The stop strings that are one token each. */
  function stopTokensOf(stops: readonly string[]): Map<number, string> {
    const found = new Map<number, string>();
    for (const stop of stops) {
      const [token, ...rest] = model.tokenize(stop, true);
      if (token !== undefined && rest.length === 0 && file.tokens[token] === stop) found.set(token, stop);
    }
    return found;
  }

  return {
    setTraining(active) {
      trainingActive = active;
      prepare(1);
    },
    async embed({ inputs, templatePath }, signal) {
      const { template, longest } = await templateAt(templatePath);
      const normalized = inputs.map((input) =>
        typeof input === 'string' ? template.normalize(input) : input,
      );
      return embeddings.embed(normalized, longest, signal);
    },
    async generate(order, signal, onText, onBegun) {
      const cameAt = performance.now();
      const { template, lead, tags: own, toolTags, longest } = await templateAt(order.templatePath);
      const use = order.input.kind === 'messages' ? order.input.tools : undefined;
      const style = use === undefined ? null : template.toolStyle;
      const tags = style === null ? own : toolTags;
      // What every call begins with need not be generated.
      const head = style === null || use?.choice === 'auto' || order.maxTokens === 0 ? '' : headOf(style);
      const prompt = promptOf(order, template, head);
      if (prompt.length === 0) throw new AppError('invalid', 'The prompt is empty.');
      if (prompt.length >= longest) {
        throw new AppError(
          'invalid',
          `The prompt has ${prompt.length} tokens, but the model's context holds ${longest}, including the answer. Shorten the prompt.`,
          { details: { promptTokens: prompt.length, contextTokens: longest } },
        );
      }
      const count = file.tokens.length;
      const lacking = style === null ? hidden : hidden.filter((token) => !tags.has(token));
      const { late, ...chosen } = await samplingOf(order, prompt, llama, model, count, lacking, style);
      const isAnswer = order.input.kind === 'messages';
      const stops = [
        ...(isAnswer && !order.ignoreEos ? template.stop : []),
        ...order.stop,
        ...(style?.stops ?? []),
        ...(style === null || style.close === '' || use?.parallel ? [] : [style.close.trim()]),
      ];
      const bytesOf: Question['bytesOf'] = (token, before) =>
        (isAnswer ? tags.get(token) : undefined) ??
        tokenBytes?.(token) ??
        encoder.encode(model.detokenize([token], false, before));
      return scheduler.answer({
        prompt,
        bytesOf,
        echo: order.echo ? textOf(order, prompt, bytesOf) : head,
        ratesPrompt: order.echo,
        signal,
        onText,
        onBegun,
        cameAt,
        adapters: order.adapters,
        caller: order.caller,
        limit: Math.min(order.maxTokens, longest - prompt.length),
        ...chosen,
        // What reasoning says of calls is none.
        late: late && (async (text) => (isReasoning(template, order, text) ? null : late(text))),
        temperature: order.temperature,
        logprobs: order.logprobs,
        lookup: order.lookup,
        cache: order.cache,
        stopTokens: stopTokensOf(stops),
        goesOn: order.ignoreEos ? everyToken : isAnswer ? new Set(tags.keys()) : noTokens,
        toldStops: new Set(order.stop.filter((stop) => !isAnswer || !template.stop.includes(stop))),
        stream: createTextStream(
          stops,
          order.input.kind === 'messages' && !order.input.continues && head === '' ? lead : '',
        ),
      });
    },
  };
}
