/** Files that are being made so that a model or a checkpoint answers. */
export interface Preparation {
  /** The file of a base that several models share, those of a checkpoint, or what a model's base was. */
  readonly kind: 'base' | 'checkpoint' | 'record';
  /** The name of the base model, of the checkpoint's run, or of the model. */
  readonly name: string;
  /** 0 to 1; `null` until it is known. */
  readonly progress: number | null;
}

/** Conversions, one at a time, because each is a Python process that reads the base model. */
export interface Preparing {
  /** The one that runs, or `null`. */
  current(): Preparation | null;
  /** Does `work` after those that came before. */
  inTurn(
    about: Omit<Preparation, 'progress'>,
    work: (onProgress: (share: number) => void) => Promise<void>,
  ): Promise<void>;
}

export function createPreparing(): Preparing {
  let current: Preparation | null = null;
  let turn: Promise<unknown> = Promise.resolve();

  return {
    current: () => current,
    inTurn(about, work) {
      const mine = turn.then(async () => {
        current = { ...about, progress: null };
        try {
          await work((progress) => {
            current = { ...about, progress };
          });
        } finally {
          current = null;
        }
      });
      turn = mine.catch(() => undefined);
      return mine;
    },
  };
}
