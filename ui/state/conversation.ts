import { type Answer, type Ask, generate, type Message } from '../api/generate.ts';
import type { ServiceError } from '../api/request.ts';
import { asServiceError } from './remote.ts';
import { Store } from './store.ts';

const keptExchanges = 50;
/** Number of exchanges restored after a reload. */
const rememberedCharacters = 500_000;
const key = (modelId: string) => `hone.talk.${modelId}`;

/** One model's answer to a prompt. */
export interface Side {
  text: string;
  busy: boolean;
  answer: Answer | null;
  error: ServiceError | null;
  stopped: boolean;
}

export interface Exchange {
  readonly id: number;
  readonly prompt: string;
  readonly tuned: Side;
  /** The base model's answer, if requested. */
  readonly base: Side | null;
}

const fresh = (): Side => ({ text: '', busy: true, answer: null, error: null, stopped: false });

/** A conversation with one model, kept across reloads of the tab. */
export class Conversation extends Store<readonly Exchange[]> {
  readonly modelId: string;
  #abort: AbortController | null = null;

  constructor(modelId: string) {
    super(recalled(modelId));
    this.modelId = modelId;
  }

  get busy(): boolean {
    return this.#abort !== null;
  }

  /** The messages so far; with the base model's own answers for the base model. */
  turns(asBase: boolean): Message[] {
    return this.value
      .map(({ prompt, tuned, base }) => ({ prompt, side: (asBase ? base : null) ?? tuned }))
      .filter(({ side }) => side.error === null && !side.busy)
      .flatMap(({ prompt, side }) => [
        { role: 'user' as const, content: prompt },
        { role: 'assistant' as const, content: side.text },
      ]);
  }

  /** Sends a prompt, then to the base model if `base` is given; one at a time. */
  async send(prompt: string, ask: Ask, base: Ask | null): Promise<void> {
    if (this.#abort !== null) return;
    const abort = new AbortController();
    this.#abort = abort;
    const exchange: Exchange = {
      id: (this.value.at(-1)?.id ?? 0) + 1,
      prompt,
      tuned: fresh(),
      base: base === null ? null : fresh(),
    };
    this.set([...this.value.slice(1 - keptExchanges), exchange]);
    await this.#answer(exchange.tuned, ask, abort.signal);
    // One after the other, so that their speeds are comparable.
    if (exchange.base !== null && base !== null) await this.#answer(exchange.base, base, abort.signal);
    this.#abort = null;
    this.#remember();
    this.touch();
  }

  stop(): void {
    this.#abort?.abort();
  }

  clear(): void {
    this.stop();
    this.set([]);
    this.#remember();
  }

  async #answer(side: Side, ask: Ask, signal: AbortSignal): Promise<void> {
    try {
      signal.throwIfAborted();
      const onText = (delta: string) => {
        side.text += delta;
        this.touch();
      };
      side.answer = await generate(ask, onText, signal);
    } catch (error) {
      if (signal.aborted) side.stopped = true;
      else side.error = asServiceError(error);
    } finally {
      side.busy = false;
      this.touch();
    }
  }

  /** Stores the answers, without errors. */
  #remember(): void {
    const done = this.value.filter(({ tuned, base }) => tuned.error === null && !base?.error);
    let room = rememberedCharacters;
    const kept = done.findLastIndex(({ prompt, tuned, base }) => {
      room -= prompt.length + tuned.text.length + (base?.text.length ?? 0);
      return room < 0;
    });
    try {
      sessionStorage.setItem(key(this.modelId), JSON.stringify(done.slice(kept + 1)));
    } catch {
      // Storage is blocked or full: the conversation is lost on reload.
    }
  }
}

function recalled(modelId: string): readonly Exchange[] {
  try {
    return JSON.parse(sessionStorage.getItem(key(modelId)) ?? '[]') as Exchange[];
  } catch {
    return [];
  }
}
