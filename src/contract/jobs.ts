/** The states of a job with their labels on the page; `next` lists the allowed transitions. */
export const states = {
  queued: { label: 'Queued', next: ['starting', 'stopped', 'failed'] },
  starting: {
    label: 'Starting',
    next: ['running', 'stopping', 'completed', 'failed', 'stopped', 'interrupted'],
  },
  running: { label: 'Running', next: ['stopping', 'completed', 'failed', 'stopped', 'interrupted'] },
  stopping: { label: 'Stopping', next: ['stopped', 'completed', 'failed', 'interrupted'] },
  completed: { label: 'Completed', next: [] },
  failed: { label: 'Failed', next: ['queued'] },
  stopped: { label: 'Stopped', next: ['queued'] },
  interrupted: { label: 'Interrupted', next: ['queued'] },
} as const satisfies Record<string, { readonly label: string; readonly next: readonly string[] }>;

export type JobState = keyof typeof states;
export const jobStates = Object.keys(states) as [JobState, ...JobState[]];

/** States in which a job occupies the machine. */
export const activeStates: readonly JobState[] = ['starting', 'running', 'stopping'];
/** States in which a second start is rejected. */
export const unfinishedStates: readonly JobState[] = ['queued', ...activeStates];
/** States from which a job can be resumed. */
export const resumableStates: readonly JobState[] = ['failed', 'stopped', 'interrupted'];

/** The phases of a run in order, each with a label and its stage. */
export const phases = {
  check: { label: 'Checking model and rows', stage: 'Prepare' },
  download: { label: 'Downloading the model', stage: 'Prepare' },
  merge_base: { label: 'Merging the adapter into its base', stage: 'Prepare' },
  gguf: { label: 'Reading the GGUF', stage: 'Prepare' },
  dry_run: { label: 'Trying the export', stage: 'Prepare' },
  load: { label: 'Loading the model', stage: 'Prepare' },
  probe: { label: 'Checking memory', stage: 'Prepare' },
  train: { label: 'Training', stage: 'Train' },
  evaluate: { label: 'Evaluating', stage: 'Train' },
  merge: { label: 'Merging the adapter', stage: 'Export' },
  convert: { label: 'Writing the GGUF file', stage: 'Export' },
  quantize: { label: 'Quantizing', stage: 'Export' },
  verify: { label: 'Verifying the GGUF file', stage: 'Verify' },
} as const satisfies Record<string, { readonly label: string; readonly stage: string }>;

export type Phase = keyof typeof phases;
export const phaseNames = Object.keys(phases) as [Phase, ...Phase[]];

export type Stage = (typeof phases)[Phase]['stage'];
/** The stages of a run, in order. */
export const stages: readonly Stage[] = [...new Set(phaseNames.map((name) => phases[name].stage))];

/** The phases of the given stages, in order. */
export const phasesOf = (...wanted: readonly Stage[]): readonly Phase[] =>
  phaseNames.filter((name) => wanted.includes(phases[name].stage));

/** What the list of runs can be ordered by. */
export const runOrders = [
  'name',
  'data',
  'tags',
  'state',
  'steps',
  'loss',
  'eval_loss',
  'gain',
  'score',
  'duration',
  'created',
  'task',
  'strategy',
  'provider',
  'notes',
] as const;

export type RunOrder = (typeof runOrders)[number];
