/** Words for what the service names in short, and questions about a job's state. */

const active = new Set(['queued', 'starting', 'running', 'stopping']);

export const isActive = (state: string) => active.has(state);
export const isEnded = (state: string) => !active.has(state);
/** Whether a job in this state can still be asked to stop. */
export const isStoppable = (state: string) => isActive(state) && state !== 'stopping';

const stateWords: Readonly<Record<string, string>> = {
  queued: 'Queued',
  starting: 'Starting',
  running: 'Running',
  stopping: 'Stopping',
  completed: 'Completed',
  failed: 'Failed',
  stopped: 'Stopped',
  interrupted: 'Interrupted',
};
export const stateName = (state: string) => stateWords[state] ?? state;

const phaseWords: Readonly<Record<string, string>> = {
  check: 'Checking model and rows',
  download: 'Downloading the model',
  load: 'Loading the model',
  probe: 'Trying the largest step',
  train: 'Training',
  evaluate: 'Evaluating',
  merge: 'Merging the adapter',
  convert: 'Writing the GGUF file',
  quantize: 'Quantizing',
  verify: 'Verifying the GGUF file',
};
export const phaseName = (phase: string | null) => (phase === null ? '' : (phaseWords[phase] ?? phase));

/** The stages that a person thinks in, and the phases of each. */
export const stages: readonly { readonly name: string; readonly phases: readonly string[] }[] = [
  { name: 'Prepare', phases: ['check', 'download', 'load', 'probe'] },
  { name: 'Train', phases: ['train', 'evaluate'] },
  { name: 'Export', phases: ['merge', 'convert', 'quantize'] },
  { name: 'Verify', phases: ['verify'] },
];

const taskWords: Readonly<Record<string, string>> = {
  'text-generation': 'Text generation',
  summarization: 'Summarization',
  'extractive-question-answering': 'Question answering',
};
export const taskName = (task: string) => taskWords[task] ?? task;

/** A strategy as it is written in texts about it. */
export const strategyName = (name: string) => (name === 'qlora' ? 'QLoRA' : name.toUpperCase());

const profileWords: Readonly<Record<string, string>> = {
  low_end: 'Low-end',
  mid_range: 'Mid-range',
  high_end: 'High-end',
};
export const profileName = (profile: string) => profileWords[profile] ?? profile;
