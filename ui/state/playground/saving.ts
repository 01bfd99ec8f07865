import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { StoredChat } from '../../api/types.ts';
import { asServiceError } from '../remote.ts';
import type { Chosen } from './branches.ts';
import type { Exchange } from './exchange.ts';
import { toTurn } from './stored-turn.ts';

/** What is stored of a chat. */
interface Kept {
  readonly all: readonly Exchange[];
  readonly chosen: Chosen;
  readonly tools: StoredChat['tools'];
}

/** Stores a chat in the service, change by change, one request at a time. */
export class Saving {
  readonly #modelId: string;
  readonly #chatId: string;
  readonly #read: () => Kept;
  /** Whether the service has the chat. */
  #isStored: boolean;
  /** Exchanges that it does not have as they are. */
  readonly #changed = new Set<string>();
  #isDue = false;
  #saved: Promise<void> = Promise.resolve();
  #error: ServiceError | null = null;

  constructor(
    { modelId, chatId, isStored }: { modelId: string; chatId: string; isStored: boolean },
    read: () => Kept,
  ) {
    this.#modelId = modelId;
    this.#chatId = chatId;
    this.#isStored = isStored;
    this.#read = read;
  }

  /** Why the latest changes are not stored. */
  get error(): ServiceError | null {
    return this.#error;
  }

  /** Stores what is chosen, and some exchanges; resolves when it is stored, or could not be. */
  save(...ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#changed.add(id);
    if (!this.#isDue) this.#saved = this.#saved.then(() => this.#store());
    this.#isDue = true;
    return this.#saved;
  }

  /** Stores them at once: the page is left. */
  saveNow(...ids: readonly string[]): void {
    for (const id of ids) this.#changed.add(id);
    if (this.#isDue || this.#changed.size > 0) void this.#store();
  }

  async #store(): Promise<void> {
    this.#isDue = false;
    const { all, ...kept } = this.#read();
    const changed = this.#isStored ? all.filter(({ id }) => this.#changed.has(id)) : all;
    this.#changed.clear();
    // A prompt that was refused is shown until the page is left.
    const turns = changed.filter(isKept).map(toTurn);
    try {
      if (!this.#isStored && turns.length === 0) return;
      if (this.#isStored) await service.changeChat(this.#chatId, { turns, ...kept });
      else await service.putChat(this.#chatId, { model_id: this.#modelId, turns, ...kept });
      this.#isStored = true;
      this.#error = null;
    } catch (thrown) {
      const error = asServiceError(thrown);
      // Deleted elsewhere: what is shown here is stored anew.
      const isGone = error.status === 404 && this.#isStored;
      if (isGone) this.#isStored = false;
      this.#error = error;
      for (const { id } of changed) this.#changed.add(id);
      if (isGone) await this.#store();
    }
  }
}

const isKept = ({ sides }: Exchange) =>
  sides.every(({ error, text, calls }) => error === null || text !== '' || calls?.length);
