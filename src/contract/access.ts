/** The file in the data directory that tells this user's commands and trainers how to reach the service. */
export const serviceFile = 'service.json';
/** The file in the data directory with the keys of judges on other servers, by URL. */
export const judgeKeysFile = 'judge-keys.json';

/** Who needs a key: peers from elsewhere, everyone, or nobody. */
export const accessModes = ['auto', 'key', 'open'] as const;
export type AccessMode = (typeof accessModes)[number];

/**
 * What a key opens, with its label on the page. `inference` is the models, answers and embeddings of `/v1`; `train` also
 * looks at machine, datasets, runs and models, adds rows, and trains within a budget.
 */
export const keyScopes = {
  full: { label: 'Everything' },
  train: { label: 'Training within a budget' },
  inference: { label: 'Models, answers and embeddings of /v1' },
} as const satisfies Record<string, { readonly label: string }>;

/** What a key of the scope `train` may use in all, each with its label on the page. Megabytes are of 10^6 bytes. */
export const budgetFigures = {
  runs: { label: 'Runs' },
  minutes: { label: 'Minutes of training' },
  energy_wh: { label: 'Energy (Wh)' },
  disk_mb: { label: 'Disk space (MB)' },
} as const satisfies Record<string, { readonly label: string }>;

export type BudgetFigure = keyof typeof budgetFigures;
export const budgetFigureNames = Object.keys(budgetFigures) as [BudgetFigure, ...BudgetFigure[]];
/** A figure that is left out is not bounded. */
export type Budget = Readonly<Partial<Record<BudgetFigure, number>>>;

export type KeyScope = keyof typeof keyScopes;
export const keyScopeNames = Object.keys(keyScopes) as [KeyScope, ...KeyScope[]];

/** A name of a key: without control characters, line separators and halves of surrogate pairs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it refuses
export const keyNamePattern = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]{1,64}$/u;
export const keyNameRule = 'must have 1 to 64 characters, and no control characters';
