import { Store } from './store.ts';

/** Whether the hub could not be reached when the service asked it last. */
export const hubAway = new Store(false);
