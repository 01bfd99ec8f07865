import type { PresetName } from '../../../src/contract/training/presets.ts';
import type { TrackerName } from '../../../src/contract/training/trackers.ts';
import type { Choices } from '../../api/types.ts';
import { readStored, writeStored } from '../local-storage.ts';
import { Store } from '../store.ts';

/** The state of the training form. `settings` has the texts of changed fields only. */
export interface Draft {
  readonly task: string;
  readonly model: string;
  /** Whether the model was typed in. */
  readonly custom: boolean;
  /** The model whose adapter is to be merged first; empty for none. Another model is not meant by it. */
  readonly mergeFor: string;
  readonly dataset: string;
  /** The dataset whose task was chosen by its fields, or by a request that names both: another task is then meant. */
  readonly fittedTo: string;
  /** The dataset to validate on instead of a part of the other; empty for none. */
  readonly validationDataset: string;
  readonly provider: string;
  readonly strategy: string;
  /** Where the values of settings come from that are left alone; `null` for the service's own. */
  readonly preset: PresetName | null;
  readonly settings: Readonly<Record<string, string>>;
  /** The GGUF types to export; `null` for the default. */
  readonly quantizations: Choices['quantizations'] | null;
  /** The trackers that get the figures, and the project there; empty for the service's own. */
  readonly reportTo: readonly TrackerName[];
  readonly project: string;
}

const initial: Draft = {
  task: 'text-generation',
  model: '',
  custom: false,
  mergeFor: '',
  dataset: '',
  fittedTo: '',
  validationDataset: '',
  provider: 'standard',
  strategy: 'sft',
  preset: 'balanced',
  settings: {},
  quantizations: null,
  reportTo: [],
  project: '',
};

/** The draft, kept in local storage. */
class DraftStore extends Store<Draft> {
  constructor() {
    super({ ...initial, ...readStored<Partial<Draft>>('draft', {}) });
  }

  change(part: Partial<Draft>): void {
    this.set({ ...this.value, ...part });
    writeStored('draft', this.value);
  }

  /** Sets a field's text; `null` resets it to the recommended value. */
  setting(name: string, text: string | null): void {
    const { [name]: _old, ...others } = this.value.settings;
    this.change({ settings: text === null ? others : { ...others, [name]: text } });
  }
}

export const draft = new DraftStore();

/** Whether the adapter of the draft's model is merged first. */
export const mergesAdapter = ({ model, mergeFor }: Draft): boolean =>
  mergeFor !== '' && mergeFor === model.trim();
