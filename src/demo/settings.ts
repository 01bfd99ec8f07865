/** What the demo trains with. Held-out questions are asked of what comes out, so nothing is evaluated on the way. */
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

/** Below this many parameters a model has little to lose and much to learn. */
const smallParameters = 20e6;

/** A small model needs, and bears, a rate and a number of rounds that a grown one would not survive. */
const ofSmall = { num_train_epochs: 6, per_device_train_batch_size: 8, learning_rate: 3e-3 };
const ofGrown = { num_train_epochs: 2, per_device_train_batch_size: 4, learning_rate: 5e-4 };

/** The fields of a training request for a base of so many parameters; null when that is not known. */
export function settingsFor(parameters: number | null) {
  return { ...common, ...(parameters !== null && parameters < smallParameters ? ofSmall : ofGrown) };
}
