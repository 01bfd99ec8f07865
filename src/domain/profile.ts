/** The three classes of machine that recommendations are made for. */
export type Profile = 'low_end' | 'mid_range' | 'high_end';
export const profiles: readonly Profile[] = ['low_end', 'mid_range', 'high_end'];

/** Specification, "Hardware profile classification": below 16 GB as sold, with room for what is reserved. */
const vramSmallGb = 7.2;
const largeGb = 15.2;

/** Classifies a machine by its GPU memory and RAM, both in GB, by the specification's ordered rules. */
export function classify(vramGb: number, ramGb: number): Profile {
  if (vramGb < vramSmallGb) return 'low_end';
  if (vramGb < largeGb) return ramGb < largeGb ? 'low_end' : 'mid_range';
  return ramGb < largeGb ? 'mid_range' : 'high_end';
}

/** What the specification recommends for a profile; `bf16` is left open for the two that quantize. */
export interface ProfileSettings {
  readonly use_4bit: boolean;
  readonly bf16: boolean | null;
  readonly per_device_train_batch_size: number;
  readonly gradient_accumulation_steps: number;
  readonly max_seq_length: number;
}

export const profileSettings: Readonly<Record<Profile, ProfileSettings>> = {
  low_end: {
    use_4bit: true,
    bf16: null,
    per_device_train_batch_size: 1,
    gradient_accumulation_steps: 8,
    max_seq_length: 512,
  },
  mid_range: {
    use_4bit: true,
    bf16: null,
    per_device_train_batch_size: 2,
    gradient_accumulation_steps: 4,
    max_seq_length: 1024,
  },
  high_end: {
    use_4bit: false,
    bf16: true,
    per_device_train_batch_size: 4,
    gradient_accumulation_steps: 2,
    max_seq_length: 2048,
  },
};
