/** The three hardware profiles that recommendations are made for, weakest first. */
export const profiles = ['low_end', 'mid_range', 'high_end'] as const;
export type Profile = (typeof profiles)[number];

export const profileLabels: Readonly<Record<Profile, string>> = {
  low_end: 'Low-end',
  mid_range: 'Mid-range',
  high_end: 'High-end',
};
