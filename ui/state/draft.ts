import type { Choices } from '../api/types.ts';
import { recall, remember } from './memory.ts';
import { Store } from './store.ts';

/** Strategies whose rows are a prompt with a better and a worse answer. */
export const preferenceStrategies: readonly string[] = ['dpo', 'rlhf'];

/** What has been chosen in the training form so far. Settings are the texts of changed fields alone. */
export interface Draft {
  readonly task: string;
  readonly model: string;
  /** Whether the model was typed rather than picked. */
  readonly custom: boolean;
  readonly dataset: string;
  readonly provider: string;
  readonly strategy: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly quantizations: Choices['quantizations'];
}

const initial: Draft = {
  task: 'text-generation',
  model: '',
  custom: false,
  dataset: '',
  provider: 'standard',
  strategy: 'sft',
  settings: {},
  quantizations: ['Q8_0'],
};

/** The draft, kept by the browser: a refresh, or a week, loses nothing. */
class DraftStore extends Store<Draft> {
  constructor() {
    super({ ...initial, ...recall<Partial<Draft>>('draft', {}) });
  }

  change(part: Partial<Draft>): void {
    this.set({ ...this.value, ...part });
    remember('draft', this.value);
  }

  /** Sets one field's text; `null` takes the recommendation again. */
  setting(name: string, text: string | null): void {
    const { [name]: _old, ...others } = this.value.settings;
    this.change({ settings: text === null ? others : { ...others, [name]: text } });
  }
}

export const draft = new DraftStore();
