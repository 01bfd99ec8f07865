import { Store } from './store.ts';

export interface Toast {
  readonly id: number;
  readonly kind: 'info' | 'error';
  readonly text: string;
  /** What takes back what is told. */
  readonly undo?: (() => void) | undefined;
}

const shownMs = 8_000;
/** What can be taken back is shown longer: there is something to decide. */
const undoMs = 20_000;

/** Temporary notifications. */
export class Toasts extends Store<readonly Toast[]> {
  #next = 1;

  constructor() {
    super([]);
  }

  show(text: string, kind: Toast['kind'] = 'info', undo?: () => void): void {
    const id = this.#next;
    this.#next += 1;
    this.set([...this.value.slice(-3), { id, kind, text, undo }]);
    setTimeout(() => this.close(id), undo === undefined ? shownMs : undoMs);
  }

  close(id: number): void {
    this.set(this.value.filter((toast) => toast.id !== id));
  }
}
