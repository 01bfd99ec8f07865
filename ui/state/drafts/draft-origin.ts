import { Store } from '../store.ts';

/** Where the settings of the training form came from. */
export interface DraftOrigin {
  /** A run or a file, by its name. */
  readonly name: string;
  /** The page of the run. */
  readonly path: string | null;
  /** What it named. */
  readonly dataset: string;
  readonly validationDataset: string;
}

/** The origin of the current draft, until it is dismissed or the page is reloaded; `null` for none. */
export const draftOrigin = new Store<DraftOrigin | null>(null);
