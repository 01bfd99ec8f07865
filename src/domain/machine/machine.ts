import type { Profile } from '../../contract/profiles.ts';
import { type HardwareFacts, readFacts } from '../../hardware/facts.ts';
import { classify } from './profile.ts';

const bytesPerGb = 2 ** 30;
const keptMs = 5_000;

/** The machine's sizes in GB (2^30 bytes) and its profile. */
export interface Machine {
  readonly facts: HardwareFacts;
  readonly vramGb: number;
  readonly ramGb: number;
  readonly diskFreeGb: number;
  readonly profile: Profile;
}

const gb = (bytes: number) => Math.round((bytes / bytesPerGb) * 100) / 100;

/** Whether training can use CUDA: there is a GPU and a CUDA build of PyTorch. */
export const hasCuda = ({ facts }: Machine): boolean =>
  facts.gpuTotalBytes > 0 && facts.torchCudaVersion !== null;

/** A cached reader of the machine's facts. */
export function createMachineReader(dataDir: string): () => Promise<Machine> {
  let known: { at: number; machine: Promise<Machine> } | null = null;
  return () => {
    if (known === null || performance.now() - known.at > keptMs) {
      known = { at: performance.now(), machine: readMachine(dataDir) };
    }
    return known.machine;
  };
}

/** Reads the machine's facts. */
export async function readMachine(dataDir: string): Promise<Machine> {
  const facts = await readFacts({ dataDir });
  const vramGb = gb(facts.gpuTotalBytes);
  const ramGb = gb(facts.ramTotalBytes);
  return { facts, vramGb, ramGb, diskFreeGb: gb(facts.diskFreeBytes ?? 0), profile: classify(vramGb, ramGb) };
}
