import type { PresetFacts } from '../../src/contract/training/presets.ts';
import { service } from '../api/service.ts';
import { connection } from './app.ts';
import { type Draft, draft, mergesAdapter } from './drafts/draft.ts';
import { Store } from './store.ts';

/** What the service knows of a model and a dataset together. */
type Facts = Pick<PresetFacts, 'parameters'> & {
  /** How long one pass over all rows of the dataset takes; `null` if unknown. */
  readonly passSeconds: number | null;
  readonly onGpu: boolean;
};
type Parts = Pick<Draft, 'task' | 'strategy' | 'provider' | 'model' | 'mergeFor' | 'dataset'>;

const editPauseMs = 350;
/** How long a start waits for the facts. */
const patienceMs = 5_000;
/** One pass over the rows, whatever the form says: the facts must not depend on what is made of them. */
const onePass = {
  num_train_epochs: 1,
  per_device_train_batch_size: 8,
  gradient_accumulation_steps: 1,
  eval_split: 0,
};

/** The facts that presets are computed from, for the model and the dataset of the draft; `null` while unknown. */
class PresetFactsStore extends Store<Facts | null> {
  #asked = '';
  /** Whether what was asked last got no answer. */
  #hasFailed = false;
  #asking: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #answered: Promise<void> = Promise.resolve();
  #answer: () => void = () => undefined;

  constructor() {
    super(null);
    // The service was restarted, or the network is back.
    connection.subscribe(() => {
      if (connection.value.state === 'live') this.#tryAgain();
    });
  }

  /** Asks for the facts of the draft, if its model or dataset is another one. */
  follow(): void {
    const { task, strategy, provider, model, mergeFor, dataset } = draft.value;
    const parts = { task, strategy, provider, model: model.trim(), mergeFor, dataset };
    const asked = JSON.stringify(parts);
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#hasFailed = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#answer();
    this.set(null);
    if (parts.model === '' || dataset === '') return;
    this.#answered = new Promise((resolve) => {
      this.#answer = resolve;
    });
    this.#timer = setTimeout(() => void this.#ask(parts, asked), editPauseMs);
  }

  /** Resolves when the facts of the draft are known, or cannot be known soon; asks again if the last try failed. */
  async ready(): Promise<void> {
    this.#tryAgain();
    this.follow();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const patience = new Promise((resolve) => {
      timer = setTimeout(resolve, patienceMs);
    });
    await Promise.race([this.#answered, patience]);
    clearTimeout(timer);
  }

  /** Asks once more, if the last try failed. */
  #tryAgain(): void {
    if (!this.#hasFailed) return;
    this.#asked = '';
    this.follow();
  }

  async #ask({ model, mergeFor, ...parts }: Parts, asked: string): Promise<void> {
    const asking = new AbortController();
    this.#asking = asking;
    const merge = mergesAdapter({ ...draft.value, model, mergeFor }) ? { merge_adapter: true } : {};
    const body = { ...parts, ...merge, ...onePass, model_name: model };
    const estimate = await service.estimate(body, asking.signal).catch(() => null);
    if (asked !== this.#asked) return;
    if (estimate === null) this.#hasFailed = true;
    else
      this.set({
        parameters: estimate.parameters,
        passSeconds: estimate.time?.train_seconds ?? null,
        onGpu: estimate.available.memory_of === 'gpu',
      });
    this.#answer();
  }
}

export const presetFacts = new PresetFactsStore();
