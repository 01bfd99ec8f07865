import { service } from '../api/service.ts';
import { toasts } from './app.ts';
import { asServiceError } from './remote.ts';

/** Tells that something was deleted, with *Undo* if it is in the bin. @param restored is called when it is back. */
export function tellDeletion(
  { message, bin_id: id }: { readonly message: string; readonly bin_id: string | null },
  restored: () => unknown,
): void {
  if (id === null) {
    toasts.show(message);
    return;
  }
  const undo = async () => {
    try {
      toasts.show((await service.restore(id)).message);
      restored();
    } catch (error) {
      toasts.show(asServiceError(error).message, 'error');
    }
  };
  toasts.show(message, 'info', () => void undo());
}
