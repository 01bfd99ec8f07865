import { router } from '../../state/app.ts';
import { isSignInNeeded } from '../../state/session.ts';
import { Store } from '../../state/store.ts';

/** Files that were dropped on a page, until an upload takes them. */
export const dropped = new Store<readonly File[]>([]);
/** Whether files are held over the page. */
export const held = new Store(false);

/** What takes files on a page: datasets, and documents on theirs. */
export const uploadTag = 'hone-dataset-upload';
export const documentsTag = 'hone-document-list';

/** Takes files that are dropped on any page: where nothing takes them, the page of datasets does. */
export function listenToDrops(): void {
  // A text can be dragged on the page, too.
  const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') ?? false;
  const isClosed = () => document.querySelector('dialog[open]') !== null || isSignInNeeded();
  addEventListener('dragover', (event) => {
    if (!hasFiles(event)) return;
    // Without this, the browser would open the file.
    event.preventDefault();
    if (!isClosed()) held.set(true);
  });
  addEventListener('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) held.set(false);
  });
  addEventListener('drop', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    held.set(false);
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length === 0 || isClosed()) return;
    dropped.set(files);
    if (document.querySelector(`${uploadTag}, ${documentsTag}`) === null) router.go('/datasets');
  });
}
