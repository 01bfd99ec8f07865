import { service } from '../api/service.ts';
import { toasts } from './app.ts';
import { asServiceError } from './remote.ts';

/** The service's answer to a deletion. */
interface Deleted {
  readonly message: string;
  readonly bin_id: string | null;
}

/** Tells that something was deleted, with *Undo* if it is in the bin. @param restored is called when it is back. */
export function tellDeletion({ message, bin_id: id }: Deleted, restored: () => unknown): void {
  tellDeletions(message, [id], restored);
}

/** Tells that several things were deleted. @param ids theirs in the bin; `null` for those that are not in it. */
export function tellDeletions(
  message: string,
  ids: readonly (string | null)[],
  restored: () => unknown,
): void {
  const kept = ids.filter((id) => id !== null);
  const undo = async () => {
    try {
      let told = '';
      // In the order of time backwards: what was deleted last may be what others refer to.
      for (const id of [...kept].reverse()) ({ message: told } = await service.restore(id));
      toasts.show(kept.length === 1 ? told : `${kept.length.toLocaleString('en')} restored`);
    } catch (error) {
      toasts.show(asServiceError(error).message, 'error');
    }
    restored();
  };
  if (kept.length === 0) toasts.show(message);
  else toasts.show(message, 'info', () => void undo());
}
