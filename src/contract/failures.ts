interface FailureCause {
  /** The default error message, if nothing more specific is known. */
  readonly message: string;
  /** The default advice, if nothing more specific is known. */
  readonly advice: string;
}

const lessMemory =
  'Set per_device_train_batch_size to 1 (raise gradient_accumulation_steps to keep the batch), max_seq_length to a smaller value, or use_4bit to true; or choose a smaller model.';
const resume = 'Resume it to continue from the last checkpoint.';

/** Failure codes of a training, as sent to clients. */
export const failures = {
  out_of_memory_gpu: { message: 'The GPU ran out of memory.', advice: lessMemory },
  out_of_memory_host: { message: 'The computer ran out of memory.', advice: lessMemory },
  disk_full: {
    message: 'The disk is full.',
    advice: 'Free some disk space (old models and checkpoints, the hub cache), then resume.',
  },
  model_not_accessible: {
    message: 'The model was not found on the hub: it does not exist, or the token has no access to it.',
    advice: 'Check the name (owner/name) and that HUB_TOKEN has access to it.',
  },
  model_gated: {
    message: 'The model is gated: its owner grants access on request.',
    advice: 'Accept its license on its hub page, then use a token of that account.',
  },
  bad_model: {
    message: 'A weight file of the model is damaged.',
    advice: 'Delete it from the hub cache (or the folder) so that it is downloaded again.',
  },
  bad_tokenizer: {
    message: "The model's tokenizer cannot be read.",
    advice: 'Choose a model with a tokenizer.json, or download the model again if a file is damaged.',
  },
  bad_dataset_row: {
    message: 'A row of the dataset cannot be trained on.',
    advice: 'Correct the row that the message names, and upload the dataset again.',
  },
  loss_not_finite: {
    message: 'The loss is no longer a finite number.',
    advice: 'Lower learning_rate, or set max_grad_norm to 1.',
  },
  killed: { message: 'The trainer was killed.', advice: resume },
  stalled: { message: 'The trainer stopped responding.', advice: resume },
  dependency_missing: {
    message: 'A Python package that this job needs is missing.',
    advice: 'Run `npm start` again, which repairs trainer/.venv; `npm run doctor` says what is missing.',
  },
  unsupported: {
    message: 'This combination of model and settings cannot be trained here.',
    advice: 'Change the setting that the message names, or choose another model.',
  },
  verification_failed: {
    message: "The output of the GGUF file differs from the trained model's.",
    advice: "The adapter is kept. Export with F16, or report this with the job's log.",
  },
  internal: {
    message: 'The trainer failed unexpectedly.',
    advice: "See the end of the job's log. If it does not help, report the problem with that log.",
  },
} as const satisfies Record<string, FailureCause>;

export type FailureCode = keyof typeof failures;
export const failureCodes = Object.keys(failures) as [FailureCode, ...FailureCode[]];
