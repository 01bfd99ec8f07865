import { type Ask, generate, type Message } from '../../api/generate.ts';
import { asServiceError } from '../remote.ts';
import { Store } from '../store.ts';
import { chatsOf, fitting, storeChat } from './chats.ts';
import type { Exchange, Side } from './exchange.ts';

const keptExchanges = 50;

/** A request, and what answers it. */
export interface Asked extends Pick<Side, 'name' | 'first'> {
  readonly ask: Ask;
}

/** A chat with one model, which this browser keeps. */
export class Conversation extends Store<readonly Exchange[]> {
  readonly modelId: string;
  readonly chatId: string;
  #abort: AbortController | null = null;

  constructor(modelId: string, chatId: string) {
    super(recalled(modelId, chatId));
    this.modelId = modelId;
    this.chatId = chatId;
  }

  get busy(): boolean {
    return this.#abort !== null;
  }

  /**
   * The messages of the first exchanges.
   * @param side whose own answers they have, where it gave any.
   */
  turns(side: number, count = this.value.length): Message[] {
    return this.value
      .slice(0, count)
      .map(({ prompt, sides }) => ({ prompt, answer: sides[side] ?? sides[0] }))
      .flatMap(({ prompt, answer }) =>
        answer === undefined || answer.error !== null || answer.busy || answer.text === ''
          ? []
          : [
              { role: 'user' as const, content: prompt },
              {
                role: 'assistant' as const,
                content: answer.text,
                ...(answer.reasoning ? { reasoning_content: answer.reasoning } : {}),
              },
            ],
      );
  }

  /**
   * Sends a prompt, to both sides at once if there are two. Does nothing while another one is answered.
   * @param kept the exchanges before the new one, and those after it.
   */
  async send(
    prompt: string,
    asked: readonly Asked[],
    [before, after]: readonly [readonly Exchange[], readonly Exchange[]] = [this.value, []],
  ): Promise<void> {
    if (this.#abort !== null) return;
    const abort = new AbortController();
    this.#abort = abort;
    const sides = asked.map(
      ({ name, first }): Side => ({
        name,
        first,
        text: '',
        busy: true,
        answer: null,
        error: null,
        stopped: false,
      }),
    );
    const id = Math.max(0, ...this.value.map((exchange) => exchange.id)) + 1;
    this.set([...before.slice(1 - keptExchanges), { id, prompt, sides }, ...after]);
    this.remember();
    await Promise.all(asked.map(({ ask }, index) => this.#answer(sides[index] as Side, ask, abort.signal)));
    this.#abort = null;
    this.remember();
    this.touch();
  }

  stop(): void {
    this.#abort?.abort();
  }

  /** Stops, and forgets the chat. */
  delete(): void {
    this.stop();
    this.set([]);
    this.remember();
  }

  async #answer(side: Side, ask: Ask, signal: AbortSignal): Promise<void> {
    try {
      const onText = (delta: string, reasoning: string) => {
        side.text += delta;
        if (reasoning !== '') side.reasoning = (side.reasoning ?? '') + reasoning;
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

  /** Stores the chat as it is, without what failed. */
  remember(): void {
    const done = this.value.filter(({ sides }) => sides.every(({ error }) => error === null));
    storeChat(this.modelId, { id: this.chatId, exchanges: fitting(done) });
  }
}

/** A stored chat; what was being answered when the page was left was stopped. */
function recalled(modelId: string, chatId: string): readonly Exchange[] {
  const found = chatsOf(modelId).find(({ id }) => id === chatId)?.exchanges ?? [];
  return found.map((exchange) => ({
    ...exchange,
    sides: exchange.sides.map((side) => (side.busy ? { ...side, busy: false, stopped: true } : side)),
  }));
}
