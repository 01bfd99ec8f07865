import type {
  CustomBatchingPrioritizationStrategy,
  EvaluationPriority,
  getLlama,
  LlamaContext,
  LlamaContextSequence,
  LlamaModel,
  Token,
} from 'node-llama-cpp';
import { mostRunning, promptChunkTokens } from './shares.ts';

/** A LoRA adapter that is added to the model; a negative scale subtracts one that is merged into it. */
export interface Adapter {
  readonly path: string;
  readonly scale: number;
}

/** A sequence of a context. It keeps the tokens of its last request, so that the next one evaluates only what differs. */
export interface Place {
  readonly room: Room;
  readonly sequence: LlamaContextSequence;
  /** Its number in the context, from 0. */
  readonly index: number;
  busy: boolean;
  usedAt: number;
}

/** A context with the places that are evaluated together. */
export interface Room {
  readonly adapters: string;
  readonly context: LlamaContext;
  /** The most tokens of each place. */
  readonly tokens: number;
  readonly places: Place[];
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
/** The least size of each place in a context for several requests, and the size of all of them. */
const sharedTokens = 1024;
const sharedCells = 16_384;
/** The most contexts at a time. */
const mostRooms = 8;
/** Below this number of cached tokens, another place is as good: most prompts begin with the same tokens of a template. */
const worthTokens = 32;
/** With so many cached tokens, a request among others is quicker in a context of its own. */
const worthAlone = 256;

/**
 * llama.cpp evaluates sequences of consecutive numbers together, so they are put into the batch in that order. The
 * priority of an item is the number of its place.
 */
const byPlace: CustomBatchingPrioritizationStrategy = ({ items }) =>
  [...items]
    .sort((one, other) => one.evaluationPriority - other.evaluationPriority)
    .map((item) => ({ item, processAmount: item.tokens.length }));

/** The priority of a place's items in `byPlace`. */
export const priorityOf = (place: Place) => place.index as EvaluationPriority;

export interface Contexts {
  /**
   * A free place for a request, marked as busy: the one with the longest cached beginning of the prompt.
   *
   * @param wanted tokens of the prompt and its answer
   * @param crowded whether other requests of the same adapters run or wait
   * @returns `null` if the request must wait for another one to end
   */
  take(
    adapters: readonly Adapter[],
    prompt: Token[],
    wanted: number,
    crowded: boolean,
  ): Promise<Place | null>;
  release(place: Place): void;
}

export function createContexts(
  llama: Awaited<ReturnType<typeof getLlama>>,
  model: LlamaModel,
  { longest, weights, perToken }: Size,
): Contexts {
  let rooms: Room[] = [];
  let clock = 0;
  const isIdle = (room: Room) => room.places.every((place) => !place.busy);
  const usedAt = (room: Room) => Math.max(...room.places.map((place) => place.usedAt));
  const oldestOf = (some: readonly Room[]): Room | undefined =>
    [...some].sort((one, other) => usedAt(one) - usedAt(other))[0];
  const bytesOf = (some: readonly Room[]) =>
    some.reduce((sum, { tokens, places }) => sum + tokens * places.length * perToken, 0);

  async function close(room: Room): Promise<void> {
    rooms = rooms.filter((other) => other !== room);
    await room.context.dispose();
  }

  /** Opens a context, or `null` if there is no memory for it. */
  async function open(adapters: readonly Adapter[], tokens: number, places: number): Promise<Room | null> {
    const most = llama.maxThreads;
    // The binding keeps the smaller of the two permanently, and the training may end soon.
    llama.maxThreads = Math.max(most, llama.cpuMathCores);
    try {
      const context = await model.createContext({
        contextSize: tokens,
        sequences: places,
        batchSize: Math.min(tokens * places, promptChunkTokens),
        threads: llama.cpuMathCores,
        batching: { itemPrioritizationStrategy: byPlace },
        ...(adapters.length === 0
          ? {}
          : { lora: { adapters: adapters.map(({ path, scale }) => ({ filePath: path, scale })) } }),
      });
      const room: Room = { adapters: JSON.stringify(adapters), context, tokens, places: [] };
      for (let index = 0; index < places; index++) {
        room.places.push({ room, sequence: context.getSequence(), index, busy: false, usedAt: 0 });
      }
      rooms.push(room);
      return room;
    } catch (error) {
      if (rooms.length === 0 && places === 1) throw error;
      return null;
    } finally {
      llama.maxThreads = most;
    }
  }

  /** Opens a context for the request; idle ones make room for it. */
  async function openFor(
    adapters: readonly Adapter[],
    wanted: number,
    crowded: boolean,
  ): Promise<Room | null> {
    const key = JSON.stringify(adapters);
    const others = rooms.filter((room) => room.adapters !== key);
    const least = crowded ? sharedTokens : others.length > 0 ? besideTokens : aloneTokens;
    const tokens = Math.min(longest, Math.max(least, 2 ** Math.ceil(Math.log2(wanted))));
    const cells = crowded ? sharedCells : least;
    const places = Math.max(1, Math.min(mostRunning, Math.floor(cells / tokens)));
    const tooSmall = rooms.find((room) => room.adapters === key && room.tokens < tokens && isIdle(room));
    if (tooSmall !== undefined && !crowded) await close(tooSmall);
    while (rooms.length >= mostRooms) {
      const oldest = oldestOf(rooms.filter(isIdle));
      if (oldest === undefined) return null;
      await close(oldest);
    }
    for (;;) {
      const idle = rooms.filter((room) => room.adapters !== key && isIdle(room));
      const oldest = oldestOf(idle);
      if (oldest === undefined || bytesOf(idle) <= weights * idleShare) break;
      await close(oldest);
    }
    const room = await open(adapters, tokens, places);
    if (room !== null) return room;
    for (const idle of rooms.filter(isIdle)) await close(idle);
    // Without memory for more, the request waits until one that runs has ended.
    return (await open(adapters, tokens, places)) ?? (rooms.length > 0 ? null : open(adapters, tokens, 1));
  }

  /** The best of these places for a prompt. */
  function best(places: readonly Place[], prompt: Token[]): { place: Place; cached: number } | undefined {
    const ranked = places.map((place) => {
      const cached = place.sequence.compareContextTokens(prompt).firstDifferentIndex;
      const busy = place.room.places.filter((other) => other.busy);
      const distance = Math.min(mostRunning, ...busy.map((other) => Math.abs(other.index - place.index)));
      return { place, cached, worth: Math.floor(cached / worthTokens), distance };
    });
    ranked.sort(
      (one, other) =>
        other.worth - one.worth || one.distance - other.distance || one.place.usedAt - other.place.usedAt,
    );
    return ranked[0];
  }

  return {
    async take(adapters, prompt, wanted, crowded) {
      const key = JSON.stringify(adapters);
      const free = rooms
        .filter((room) => room.adapters === key && room.tokens >= Math.min(wanted, longest))
        .flatMap((room) => room.places)
        .filter((place) => !place.busy);
      let chosen = best(free, prompt);
      if (crowded && chosen?.place.room.places.length === 1 && chosen.cached < worthAlone) {
        const shared = best(
          free.filter(({ room }) => room.places.length > 1),
          prompt,
        );
        chosen = shared ?? chosen;
        if (shared === undefined) {
          chosen.place.busy = true;
          const room = await openFor(adapters, wanted, true);
          if (room !== null) {
            chosen.place.busy = false;
            chosen = best(room.places, prompt);
          }
        }
      }
      const place = chosen?.place ?? (await openFor(adapters, wanted, crowded))?.places[0];
      if (place === undefined) return null;
      place.busy = true;
      place.usedAt = ++clock;
      return place;
    },
    release(place) {
      place.busy = false;
      place.usedAt = ++clock;
    },
  };
}
