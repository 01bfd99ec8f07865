import { type HardwareFacts, readFacts } from '../hardware/facts.ts';
import { classify, type Profile } from './profile.ts';

const bytesPerGb = 2 ** 30;

/** The machine as the specification speaks of it: sizes in GB (2^30 bytes), and the profile they make. */
export interface Machine {
  readonly facts: HardwareFacts;
  readonly vramGb: number;
  readonly ramGb: number;
  readonly diskFreeGb: number;
  readonly profile: Profile;
}

const gb = (bytes: number) => Math.round((bytes / bytesPerGb) * 100) / 100;

/** Whether training runs on CUDA here: there is a GPU for it, and a PyTorch that was built for it. */
export const hasCuda = ({ facts }: Machine): boolean =>
  facts.gpuTotalBytes > 0 && facts.torchCudaVersion !== null;

/** Reads what the machine is, now. */
export async function readMachine(dataDir: string): Promise<Machine> {
  const facts = await readFacts({ dataDir });
  const vramGb = gb(facts.gpuTotalBytes);
  const ramGb = gb(facts.ramTotalBytes);
  return { facts, vramGb, ramGb, diskFreeGb: gb(facts.diskFreeBytes ?? 0), profile: classify(vramGb, ramGb) };
}
