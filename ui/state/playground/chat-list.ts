import { service } from '../../api/service.ts';
import type { ChatSummary } from '../../api/types.ts';
import { Remote } from '../remote.ts';
import { handOver } from './chats.ts';

/** The chats with a model that have a text, or those of models that were deleted, the latest first. */
export class ChatList extends Remote<readonly ChatSummary[]> {
  #search: string;

  /** @param modelId `null` for those of deleted models. */
  constructor(modelId: string | null) {
    super(async () => {
      if (modelId === null) return service.chatsOfDeleted(this.#search);
      await handOver(modelId);
      return service.chats(modelId, this.#search);
    });
    this.#search = '';
  }

  get search(): string {
    return this.#search;
  }

  find(text: string): void {
    this.#search = text;
    void this.refresh();
  }

  /** Deletes a chat; the result brings it back. @throws ServiceError */
  async remove(id: string): Promise<() => Promise<void>> {
    const chat = await service.chat(id);
    const { bin_id } = await service.removeChat(id);
    void this.refresh();
    return async () => {
      if (bin_id === null) await service.putChat(id, chat);
      else await service.restore(bin_id);
      void this.refresh();
    };
  }

  async rename(id: string, name: string): Promise<void> {
    await service.changeChat(id, { name });
    await this.refresh();
  }
}
