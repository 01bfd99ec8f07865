import { type Answer, type Ask, generate, type Message } from '../api/generate.ts';
import type { ServiceError } from '../api/request.ts';
import { asServiceError } from './remote.ts';
import { Store } from './store.ts';

const keptExchanges = 50;
/** Of the newest exchanges, what a refresh brings back. */
const rememberedCharacters = 500_000;
const key = (modelId: string) => `hone.talk.${modelId}`;

/** One side's answer to a prompt. */
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
  /** Set where the base model was asked, too. */
  readonly base: Side | null;
}

const fresh = (): Side => ({ text: '', busy: true, answer: null, error: null, stopped: false });

/** What was asked of one model and what it answered; kept by the tab over a refresh. */
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

  /** The turns so far, as a chat template takes them; the base's own where it was asked, too. */
  turns(asBase: boolean): Message[] {
    return this.value
      .map(({ prompt, tuned, base }) => ({ prompt, side: (asBase ? base : null) ?? tuned }))
      .filter(({ side }) => side.error === null && !side.busy)
      .flatMap(({ prompt, side }) => [
        { role: 'user' as const, content: prompt },
        { role: 'assistant' as const, content: side.text },
      ]);
  }

  /** Asks, and where `base` is given asks the base model after that; one prompt at a time. */
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
    // One after the other: the same processor answers both, and their speeds stay comparable.
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

  /** Keeps what has been answered; an error is of its moment. */
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
      // Blocked or full: the conversation lasts until the page is left.
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
