interface FailureCause {
  /** The default error message, if nothing more specific is known. */
  readonly message: string;
  /** The default advice, if nothing more specific is known. */
  readonly advice: string;
  /** The code's section in docs/troubleshooting.md: paragraphs and list items in Markdown. */
  readonly help: readonly string[];
}

const lessMemory =
  'Set per_device_train_batch_size to 1 (raise gradient_accumulation_steps to keep the batch), max_seq_length to a smaller value, or use_4bit to true; or choose a smaller model.';
const resume = 'Resume it to continue from the last checkpoint.';

/** Failure codes of a training, as sent to clients. */
export const failures = {
  out_of_memory_gpu: {
    message: 'The GPU ran out of memory.',
    advice: lessMemory,
    help: [
      'The GPU ran out of memory. Before training, Hone tries one step with the longest rows and reduces the batch if needed, so this usually means that a single row does not fit.',
      '- Set `per_device_train_batch_size` to 1 and raise `gradient_accumulation_steps` to keep the effective batch size.',
      '- Lower `max_seq_length`.',
      '- Set `use_4bit` to true (or use the strategy `qlora`), or `gradient_checkpointing` to true.',
      "- Close other programs that use the GPU. The page's *Live usage* shows its memory.",
      '- Choose a smaller model. `POST /api/estimate` gives the memory of each part.',
    ],
  },
  out_of_memory_host: {
    message: 'The computer ran out of memory.',
    advice: lessMemory,
    help: [
      "The system's memory (RAM) ran out. The same settings help as for `out_of_memory_gpu`. In a container, check its memory limit. If the system killed the trainer without warning, the code is `killed`.",
    ],
  },
  disk_full: {
    message: 'The disk is full.',
    advice: 'Free some disk space (old models and checkpoints, the hub cache), then resume.',
    help: [
      'The disk is full, or the run needs more space than there is. The message gives both sizes.',
      '- Delete old models and runs on the page, or unused models in the hub cache (`HF_HOME`).',
      '- Lower `save_total_limit`, or choose fewer quantizations for the export.',
      '- Move the data directory with `SERVICE_DATA_DIR`.',
    ],
  },
  model_not_accessible: {
    message: 'The model was not found on the hub: it does not exist, or the token has no access to it.',
    advice: 'Check the name (owner/name) and that the hub token has access to it.',
    help: [
      'The model does not exist, the token may not read it, or the hub is unreachable.',
      '- Check the name (`owner/name`) and the network.',
      '- For a private model, set a hub token under Settings, or as `HUB_TOKEN` before starting the service.',
      '- Check `HF_ENDPOINT`. With `HF_HUB_OFFLINE` set, only downloaded models can be used.',
      '- Resume to continue the download.',
    ],
  },
  model_gated: {
    message: 'The model is gated: its owner grants access on request.',
    advice: 'Accept its license on its hub page, then use a token of that account.',
    help: [
      "The model's owner grants access on request. Accept the terms on the model's page on the hub, then set a token of that account under Settings, or as `HUB_TOKEN` before starting the service.",
    ],
  },
  bad_model: {
    message: 'A weight file of the model is damaged.',
    advice: 'Delete it from the hub cache (or the folder) so that it is downloaded again.',
    help: [
      "The folder or repository is not a usable model: `config.json` or the safetensors files are missing, incomplete or damaged, or do not belong together. The message names tensors that are missing, left over or of another shape, because Hone never trains on random numbers in place of weights. If a file is damaged, delete the model from the hub cache so that it is downloaded again. Models with PyTorch `.bin` weights only are not supported. Links in a model's folder to files elsewhere are not followed: put the files themselves in their place.",
    ],
  },
  bad_tokenizer: {
    message: "The model's tokenizer cannot be read.",
    advice: 'Choose a model with a tokenizer.json, or download the model again if a file is damaged.',
    help: [
      'The tokenizer files are missing or unreadable. Download the model again, or choose one that has a `tokenizer.json` or a SentencePiece model. A tokenizer of older files (`vocab.txt`, or `vocab.json` and `merges.txt`) can be converted with transformers: `AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER)`.',
    ],
  },
  bad_dataset_row: {
    message: 'A row of the dataset cannot be trained on.',
    advice: 'Correct the row that the message names, and upload the dataset again.',
    help: [
      'A row cannot be used for training, or no row is left. The message names the row and the reason. Fix the dataset and start a new run. If rows are too long, raise `max_seq_length`.',
    ],
  },
  no_reward_spread: {
    message: 'All answers that were tried have the same score, so there is nothing to learn from.',
    advice: 'Choose graders that tell answers apart, or train the model on a few answers (sft) first.',
    help: [
      'The strategy `grpo` compares the answers to a prompt. Before the first step, eight answers to each of a few rows are graded. If all answers to a row have the same score, whatever the row, no answer is better than another, and nothing would be learned. The message shows some of the answers with their scores.',
      '- If all scores are 0, the task may be too hard, or the grader too strict: train the model on a few right answers with `sft` first, say in the prompt how to answer, or add a grader that rewards a part of the goal.',
      '- If all scores are 1, the model can do it already.',
      '- If the answers are cut, raise `max_answer_tokens`.',
    ],
  },
  loss_not_finite: {
    message: 'The loss is no longer a finite number.',
    advice: 'Lower learning_rate, or set max_grad_norm to 1.',
    help: [
      'The loss became infinite or not a number. Resuming would repeat it. Start a new run with',
      '- a lower `learning_rate`,',
      '- `max_grad_norm` set to 1 and a `warmup_ratio` of 0.05,',
      '- `bf16` instead of `fp16`.',
    ],
  },
  killed: {
    message: 'The trainer was killed.',
    advice: resume,
    help: [
      "The trainer's process was killed, or the machine stopped. The run is marked *interrupted*. Resume it. If the signal was SIGKILL, memory probably ran out: see `out_of_memory_host`.",
    ],
  },
  stalled: {
    message: 'The trainer stopped responding.',
    advice: resume,
    help: [
      'The trainer gave no sign of life for ten minutes and was stopped. Possible causes are heavy swapping, a network file system that does not respond, or a hung GPU driver. Look at the end of the log, then resume.',
    ],
  },
  worker_lost: {
    message: 'A worker of the run was killed.',
    advice: 'Resume it to continue from the last checkpoint; if memory ran out, set workers to fewer.',
    help: [
      'A run with several `workers` starts again from its newest checkpoint when one of them is killed, three times at most, and warns `worker_lost` each time. If the signal was SIGKILL, memory probably ran out: every worker has its own copy of the model. Set `workers` to fewer, or see `out_of_memory_host`. Then resume.',
    ],
  },
  cluster_unavailable: {
    message: 'The cluster cannot be used.',
    advice: 'Start it with "hone cluster start", or join it with "hone join", then resume.',
    help: [
      'A run with several `workers` uses the cluster that Hone was started with (`--cluster`). The message says why that is not possible: nothing answers there, the token is wrong or missing, Ray or a package has another version on one of the machines, or it has too few devices. `npm run doctor` shows the cluster. Correct it, then resume.',
    ],
  },
  workers_differ: {
    message: 'The trained weights of the workers differ, so the result would be wrong.',
    advice: 'Start the run again with workers set to 1, and report this with the log.',
    help: [
      'At every checkpoint Hone compares the trained weights of all `workers`. They must be equal. A difference means defective memory or a bug. The checkpoint was not written; earlier ones are sound. Start again with `workers` set to 1, and report it.',
    ],
  },
  dependency_missing: {
    message: 'A Python package that this job needs is missing.',
    advice: 'Run `npm start` again, which repairs trainer/.venv; `npm run doctor` says what is missing.',
    help: [
      'A Python package is missing or cannot be loaded, for example bitsandbytes for 4-bit training. Run `npm start` again, which repairs `trainer/.venv`. `npm run doctor` shows what is missing.',
    ],
  },
  unsupported: {
    message: 'This combination of model and settings cannot be trained here.',
    advice: 'Change the setting that the message names, or choose another model.',
    help: [
      'This combination does not work here. The message says why, for example an architecture that does not fit the task, a setting that needs a GPU, a model that needs its own Python code (never executed), or a GGUF file of an architecture that llama.cpp does not support. The advice says what to set instead.',
    ],
  },
  verification_failed: {
    message: 'The GGUF file is wrong.',
    advice: 'The adapter is kept. Export the model again; if the file is wrong again, report this message.',
    help: [
      "A tensor or a metadata value of the exported file is not the trained model's, or the file's answers have nothing to do with it. The message names what is wrong. The file is not published, the run is completed, and its adapter is kept. Export the model again: a defective disk or memory may be the cause. If the same tensor is wrong again, it is a bug in the export or in llama.cpp: please report the model's name with the message.",
      'What a type costs in quality is never a reason: it is shown as a figure.',
    ],
  },
  internal: {
    message: 'The trainer failed unexpectedly.',
    advice: "See the end of the job's log. If it does not help, report the problem with that log.",
    help: [
      'An unexpected error. The end of the log usually shows the cause. If a resumed run fails in the same way, report it with the archive that `npm run report -- RUN` makes: it has the log.',
    ],
  },
} as const satisfies Record<string, FailureCause>;

export type FailureCode = keyof typeof failures;
export const failureCodes = Object.keys(failures) as [FailureCode, ...FailureCode[]];
