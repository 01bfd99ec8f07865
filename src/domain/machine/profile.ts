import type { Profile } from '../../contract/profiles.ts';

/** docs/specification.md, Hardware profiles: 8 and 16 GB, less what the firmware reserves. */
const vramSmallGb = 7.2;
const largeGb = 15.2;

/** Classifies a machine by its GPU memory and RAM in GB. */
export function classify(vramGb: number, ramGb: number): Profile {
  if (vramGb < vramSmallGb) return 'low_end';
  if (vramGb < largeGb) return ramGb < largeGb ? 'low_end' : 'mid_range';
  return ramGb < largeGb ? 'mid_range' : 'high_end';
}
