import { type Answer, type Ask, type CallPart, generate } from '../../api/generate.ts';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { StoredChat } from '../../api/types.ts';
import { asServiceError } from '../remote.ts';
import { paced } from '../runs/pace.ts';
import { Store } from '../store.ts';
import { withoutBegunStop } from './begun-stop.ts';
import { type Chosen, placeOf, shownOf, versionsOf } from './branches.ts';
import { newId } from './chats.ts';
import type { Call, Exchange, Side } from './exchange.ts';
import { answerMessage, wholeCalls } from './said.ts';
import { Saving } from './saving.ts';
import { fromTurn } from './stored-turn.ts';

/** How often an answer is stored while it grows. */
const storeEveryMs = 2_000;

/** A request, and what answers it. */
export interface Asked extends Pick<Side, 'name' | 'first'> {
  readonly ask: Ask;
}

/** A prompt, and where it belongs. */
export interface NewPrompt extends Pick<Exchange, 'prompt' | 'results' | 'system'> {
  /** The exchange that it is another version of; without, it follows the last one. */
  readonly insteadOf?: Exchange;
  /** Whether what followed the other version follows this one, too. */
  readonly standsAlone?: boolean;
}

/** A chat with one model, which the service keeps. Its value are the exchanges that are shown. */
export class Conversation extends Store<readonly Exchange[]> {
  readonly modelId: string;
  readonly chatId: string;
  /** All exchanges, with the versions that are not shown. */
  #all: readonly Exchange[] = [];
  #chosen: Chosen = {};
  #tools: StoredChat['tools'] = null;
  #abort: AbortController | null = null;
  #loading = false;
  #error: ServiceError | null = null;
  readonly #saving: Saving;

  /** @param isStored whether the service has it; it is then loaded. */
  constructor(modelId: string, chatId: string, isStored = false) {
    super([]);
    this.modelId = modelId;
    this.chatId = chatId;
    this.#saving = new Saving({ modelId, chatId, isStored }, () => ({
      all: this.#all,
      chosen: this.#chosen,
      tools: this.#tools,
    }));
    if (isStored) void this.#load();
  }

  get busy(): boolean {
    return this.#abort !== null;
  }

  get loading(): boolean {
    return this.#loading;
  }

  /** Why it could not be loaded, or is not stored. */
  get error(): ServiceError | null {
    return this.#error ?? this.#saving.error;
  }

  async #load(): Promise<void> {
    this.#loading = true;
    try {
      const { turns, chosen, tools } = await service.chat(this.chatId);
      this.#all = turns.map(fromTurn);
      this.#chosen = chosen;
      this.#tools = tools;
    } catch (error) {
      this.#error = asServiceError(error);
    }
    this.#loading = false;
    this.#show();
  }

  #show(): void {
    this.set(shownOf(this.#all, this.#chosen));
  }

  /** Stores what has changed, and tells those who watch. */
  #save(...ids: readonly string[]): Promise<void> {
    return this.#saving.save(...ids).then(() => this.touch());
  }

  /** The versions of an exchange. */
  versions = (exchange: Exchange): readonly Exchange[] => versionsOf(this.#all, exchange);

  /** Shows another version of an exchange, with what followed it. */
  choose({ after, id }: Exchange): void {
    this.#chosen = { ...this.#chosen, [after]: id };
    this.#show();
    void this.#save();
  }

  /** Those that its answers may call; `null` if that is not known. */
  get tools(): StoredChat['tools'] {
    return this.#tools;
  }

  /** Keeps the tools that its answers may call from now on. */
  keepTools(tools: NonNullable<StoredChat['tools']>): void {
    if (JSON.stringify(tools) === JSON.stringify(this.#tools)) return;
    this.#tools = tools;
    void this.#save();
  }

  #add({ prompt, results, system, insteadOf, standsAlone }: NewPrompt, sides: readonly Side[]): string {
    const last = this.value.at(-1);
    const after = insteadOf?.after ?? (last === undefined ? '' : placeOf(last));
    const like = insteadOf !== undefined && standsAlone ? placeOf(insteadOf) : null;
    const id = newId();
    this.#all = [...this.#all, { id, after, like, system, prompt, results, sides }];
    this.#chosen = { ...this.#chosen, [after]: id };
    this.#show();
    return id;
  }

  /** Sends a prompt, to all sides at once. Does nothing while another one is answered. */
  async send(prompt: NewPrompt, asked: readonly Asked[]): Promise<void> {
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
    const id = this.#add(prompt, sides);
    void this.#save(id);
    await this.#answerAll(
      id,
      asked.map(({ ask }, index) => [sides[index] as Side, ask]),
      abort,
    );
  }

  /** Has the answers of an exchange go on that were cut at their limit. @param asked the requests for its sides. */
  async goOn({ id, sides }: Exchange, asked: readonly Asked[]): Promise<void> {
    if (this.#abort !== null) return;
    const cut = sides.flatMap((side, index): [Side, Ask][] => {
      const ask = asked[index]?.ask;
      if (ask === undefined || !side.answer?.isCut) return [];
      side.busy = true;
      side.text = withoutBegunStop(side.text, [ask.stop ?? []].flat());
      return [[side, goingOn(ask, side)]];
    });
    this.#abort = new AbortController();
    this.touch();
    await this.#answerAll(id, cut, this.#abort);
  }

  /** Adds a version of an exchange whose answer the user wrote. */
  answer(exchange: Exchange, side: Side, text: string): void {
    const { prompt, results, system } = exchange;
    const written: Side = {
      name: side.name,
      first: '',
      text,
      calls: wholeCalls(side),
      busy: false,
      error: null,
      stopped: false,
      edited: true,
      answer: null,
    };
    void this.#save(this.#add({ prompt, results, system, insteadOf: exchange }, [written]));
  }

  /** Rates an answer, or corrects it. */
  judge({ id }: Exchange, side: Side, judgement: Pick<Side, 'rating' | 'correction'>): void {
    Object.assign(side, judgement);
    this.touch();
    void this.#save(id);
  }

  async #answerAll(
    id: string,
    asked: readonly (readonly [Side, Ask])[],
    abort: AbortController,
  ): Promise<void> {
    const growing = paced(() => void this.#save(id), storeEveryMs);
    await Promise.all(asked.map(([side, ask]) => this.#answer(side, ask, abort.signal, growing.ask)));
    growing.cancel();
    this.#abort = null;
    this.touch();
    await this.#save(id);
  }

  stop(): void {
    this.#abort?.abort();
  }

  /** Stores all that was said. */
  remember(): Promise<void> {
    return this.#saving.save(...this.#all.map(({ id }) => id));
  }

  /** Stores what is being answered: the page is left. */
  rememberNow(): void {
    this.#saving.saveNow(...(this.busy ? this.#all.map(({ id }) => id) : []));
  }

  async #answer(side: Side, ask: Ask, signal: AbortSignal, grown: () => void): Promise<void> {
    try {
      const onText = (delta: string, reasoning: string, calls: readonly CallPart[]) => {
        side.text += delta;
        if (calls.length > 0) side.calls = withParts(side.calls, calls);
        if (reasoning !== '') side.reasoning = (side.reasoning ?? '') + reasoning;
        this.touch();
        grown();
      };
      side.stopped = false;
      side.error = null;
      side.answer = sumOf(side.answer, await generate(ask, onText, signal));
    } catch (error) {
      if (signal.aborted) side.stopped = true;
      else side.error = asServiceError(error);
    } finally {
      side.busy = false;
      this.touch();
    }
  }
}

/** The request for the rest of an answer. */
const goingOn = (ask: Ask, { text, reasoning }: Side): Ask => ({
  ...ask,
  messages: [...ask.messages, answerMessage({ text, reasoning, calls: [] })],
  continue_final_message: true,
});

/** Calls with what is new of them. */
function withParts(calls: readonly Call[] = [], parts: readonly CallPart[]): readonly Call[] {
  const all = [...calls];
  for (const { index, id = '', function: part } of parts) {
    const call = all[index] ?? { id, name: part.name ?? '', arguments: '' };
    all[index] = { ...call, arguments: call.arguments + part.arguments };
  }
  return all;
}

/** What is known of an answer that went on. */
function sumOf(before: Answer | null, rest: Answer): Answer {
  if (before === null) return rest;
  const sum = (a: number | null, b: number | null) => (a === null || b === null ? null : a + b);
  return {
    ...rest,
    tokens: sum(before.tokens, rest.tokens),
    promptTokens: before.promptTokens,
    generationMs: sum(before.generationMs, rest.generationMs),
    firstTokenMs: sum(before.firstTokenMs, rest.firstTokenMs),
  };
}
