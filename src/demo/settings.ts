/** The demo's training settings. Held-out questions measure the result, so there is no evaluation during training. */
const common = {
  strategy: 'sft',
  provider: 'standard',
  gradient_accumulation_steps: 1,
  max_seq_length: 256,
  lora_r: 16,
  lora_alpha: 32,
  lr_scheduler_type: 'cosine',
  warmup_ratio: 0.03,
  use_4bit: false,
  gradient_checkpointing: false,
  eval_split: 0,
  seed: 42,
  export: { quantizations: ['Q8_0'] },
};

/** Models with fewer parameters are treated as small. */
const smallParameters = 20e6;

/** A small model needs a higher learning rate and more epochs than a large one. */
const ofSmall = { num_train_epochs: 6, per_device_train_batch_size: 8, learning_rate: 3e-3 };
const ofGrown = { num_train_epochs: 2, per_device_train_batch_size: 4, learning_rate: 5e-4 };

/** The settings for a base model with this many parameters; null if unknown. */
export function settingsFor(parameters: number | null) {
  return { ...common, ...(parameters !== null && parameters < smallParameters ? ofSmall : ofGrown) };
}

/** The settings for a real model on the task of dates: three times through 400 short rows. */
export const settingsForDates = {
  ...common,
  num_train_epochs: 3,
  per_device_train_batch_size: 8,
  learning_rate: 1e-3,
};
