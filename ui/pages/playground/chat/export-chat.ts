import { service } from '../../../api/service.ts';
import { download, fileNameOf } from '../../../elements/download.ts';

/** Saves a chat as a file that can be stored again. @throws ServiceError */
export async function exportChat(id: string, title: string): Promise<void> {
  const chat = await service.chat(id);
  download(`${fileNameOf(title)}.json`, JSON.stringify(chat, null, 2), 'application/json');
}
