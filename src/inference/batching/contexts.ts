import type {
  CustomBatchingPrioritizationStrategy,
  EvaluationPriority,
  getLlama,
  LlamaContext,
  LlamaContextSequence,
  LlamaModel,
  Token,
} from 'node-llama-cpp';
import { mostRunning, promptChunkTokens } from './token-budget.ts';

/** A LoRA adapter that is added to the model; a negative scale subtracts one that is merged into it. */
export interface Adapter {
  readonly path: string;
  readonly scale: number;
}

/** A sequence of a context. It keeps the tokens of its last request, so that the next one evaluates only what differs. */
export interface Slot {
  readonly context: Context;
  readonly sequence: LlamaContextSequence;
  /** Its number in the context, from 0. */
  readonly index: number;
  busy: boolean;
  usedAt: number;
}

/** A context with the slots that are evaluated together. */
export interface Context {
  readonly adapters: string;
  readonly native: LlamaContext;
  /** The most tokens of each slot. */
  readonly tokens: number;
  readonly slots: Slot[];
}

/** What the contexts of a model may take. */
export interface Size {
  /** The most tokens that the model supports. */
  readonly longest: number;
  /** Bytes of the weights. */
  readonly weights: number;
  /** Bytes that a context takes for each of its tokens. */
  readonly perToken: number;
}

/** The size of a context for one request alone, in tokens. A request that needs more gets a larger one. */
export const aloneTokens = 8192;
/** The same beside contexts of other adapters. */
const besideTokens = 2048;
/** Idle contexts of other adapters are kept as far as they take at most this share of the model's size. */
const idleShare = 1 / 4;
/** The least size of each slot in a context for several requests, and the size of all of them. */
const sharedTokens = 1024;
const sharedCells = 16_384;
/** The most contexts at a time. */
const mostContexts = 8;
/** Below this number of cached tokens, another slot is as good: most prompts begin with the same tokens of a template. */
const worthTokens = 32;
/** With so many cached tokens, a request among others is quicker in a context of its own. */
const worthAlone = 256;

/**
 * llama.cpp evaluates sequences of consecutive numbers together, so they are put into the batch in that order. The
 * priority of an item is the number of its slot.
 */
const bySlot: CustomBatchingPrioritizationStrategy = ({ items }) =>
  [...items]
    .sort((one, other) => one.evaluationPriority - other.evaluationPriority)
    .map((item) => ({ item, processAmount: item.tokens.length }));

/** The priority of a slot's items in `bySlot`. */
export const priorityOf = (slot: Slot) => slot.index as EvaluationPriority;

export interface Contexts {
  /**
   * A free slot for a request, marked as busy: the one with the longest cached beginning of the prompt.
   *
   * @param wanted tokens of the prompt and its answer
   * @param shared whether other requests with the same adapters run or wait
   * @returns `null` if the request must wait for another one to end
   */
  take(adapters: readonly Adapter[], prompt: Token[], wanted: number, shared: boolean): Promise<Slot | null>;
  release(slot: Slot): void;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the contexts and which sequences are free
export function createContexts(
  llama: Awaited<ReturnType<typeof getLlama>>,
  model: LlamaModel,
  { longest, weights, perToken }: Size,
): Contexts {
  let contexts: Context[] = [];
  let clock = 0;
  const isIdle = (context: Context) => context.slots.every((slot) => !slot.busy);
  const usedAt = (context: Context) => Math.max(...context.slots.map((slot) => slot.usedAt));
  const oldestOf = (some: readonly Context[]): Context | undefined =>
    [...some].sort((one, other) => usedAt(one) - usedAt(other))[0];
  const bytesOf = (some: readonly Context[]) =>
    some.reduce((sum, { tokens, slots }) => sum + tokens * slots.length * perToken, 0);

  async function close(context: Context): Promise<void> {
    contexts = contexts.filter((other) => other !== context);
    await context.native.dispose();
  }

  /** Opens a context, or `null` if there is no memory for it. */
  async function open(adapters: readonly Adapter[], tokens: number, slots: number): Promise<Context | null> {
    const most = llama.maxThreads;
    // The binding keeps the smaller of the two permanently, and the training may end soon.
    llama.maxThreads = Math.max(most, llama.cpuMathCores);
    try {
      const native = await model.createContext({
        contextSize: tokens,
        sequences: slots,
        batchSize: Math.min(tokens * slots, promptChunkTokens),
        threads: llama.cpuMathCores,
        batching: { itemPrioritizationStrategy: bySlot },
        lora: { adapters: adapters.map(({ path, scale }) => ({ filePath: path, scale })) },
      });
      const context: Context = { adapters: JSON.stringify(adapters), native, tokens, slots: [] };
      for (let index = 0; index < slots; index++) {
        context.slots.push({ context, sequence: native.getSequence(), index, busy: false, usedAt: 0 });
      }
      contexts.push(context);
      return context;
    } catch (error) {
      if (contexts.length === 0 && slots === 1) throw error;
      return null;
    } finally {
      llama.maxThreads = most;
    }
  }

  /** Opens a context for the request; idle ones make room for it. */
  async function openFor(
    adapters: readonly Adapter[],
    wanted: number,
    shared: boolean,
  ): Promise<Context | null> {
    const key = JSON.stringify(adapters);
    const others = contexts.filter((context) => context.adapters !== key);
    const least = shared ? sharedTokens : others.length > 0 ? besideTokens : aloneTokens;
    const tokens = Math.min(longest, Math.max(least, 2 ** Math.ceil(Math.log2(wanted))));
    const cells = shared ? sharedCells : least;
    const slots = Math.max(1, Math.min(mostRunning, Math.floor(cells / tokens)));
    const tooSmall = contexts.find(
      (context) => context.adapters === key && context.tokens < tokens && isIdle(context),
    );
    if (tooSmall !== undefined && !shared) await close(tooSmall);
    while (contexts.length >= mostContexts) {
      const oldest = oldestOf(contexts.filter(isIdle));
      if (oldest === undefined) return null;
      await close(oldest);
    }
    for (;;) {
      const idle = contexts.filter((context) => context.adapters !== key && isIdle(context));
      const oldest = oldestOf(idle);
      if (oldest === undefined || bytesOf(idle) <= weights * idleShare) break;
      await close(oldest);
    }
    const context = await open(adapters, tokens, slots);
    if (context !== null) return context;
    for (const idle of contexts.filter(isIdle)) await close(idle);
    // Without memory for more, the request waits until one that runs has ended.
    return (await open(adapters, tokens, slots)) ?? (contexts.length > 0 ? null : open(adapters, tokens, 1));
  }

  /** The best of these slots for a prompt. */
  function best(slots: readonly Slot[], prompt: Token[]): { slot: Slot; cached: number } | undefined {
    const ranked = slots.map((slot) => {
      const cached = slot.sequence.compareContextTokens(prompt).firstDifferentIndex;
      const busy = slot.context.slots.filter((other) => other.busy);
      const distance = Math.min(mostRunning, ...busy.map((other) => Math.abs(other.index - slot.index)));
      return { slot, cached, worth: Math.floor(cached / worthTokens), distance };
    });
    ranked.sort(
      (one, other) =>
        other.worth - one.worth || one.distance - other.distance || one.slot.usedAt - other.slot.usedAt,
    );
    return ranked[0];
  }

  return {
    async take(adapters, prompt, wanted, shared) {
      const key = JSON.stringify(adapters);
      const free = contexts
        .filter((context) => context.adapters === key && context.tokens >= Math.min(wanted, longest))
        .flatMap((context) => context.slots)
        .filter((slot) => !slot.busy);
      let chosen = best(free, prompt);
      if (shared && chosen?.slot.context.slots.length === 1 && chosen.cached < worthAlone) {
        const beside = best(
          free.filter(({ context }) => context.slots.length > 1),
          prompt,
        );
        chosen = beside ?? chosen;
        if (beside === undefined) {
          chosen.slot.busy = true;
          const context = await openFor(adapters, wanted, true);
          if (context !== null) {
            chosen.slot.busy = false;
            chosen = best(context.slots, prompt);
          }
        }
      }
      const slot = chosen?.slot ?? (await openFor(adapters, wanted, shared))?.slots[0];
      if (slot === undefined) return null;
      slot.busy = true;
      slot.usedAt = ++clock;
      return slot;
    },
    release(slot) {
      slot.busy = false;
      slot.usedAt = ++clock;
    },
  };
}
