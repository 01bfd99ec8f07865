import { readStored, writeStored } from './local-storage.ts';
import { Store } from './store.ts';

const key = 'single-keys';

/** Whether single keys are shortcuts (WCAG 2.1.4), kept in the browser. */
class SingleKeys extends Store<boolean> {
  constructor() {
    super(readStored<unknown>(key, true) !== false);
  }

  choose(isOn: boolean): void {
    writeStored(key, isOn);
    this.set(isOn);
  }
}

export const singleKeys = new SingleKeys();
