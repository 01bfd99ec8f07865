import { createClusterView } from '../domain/machine/cluster.ts';
import { createLive } from '../domain/machine/live.ts';
import { createMachineReader } from '../domain/machine/machine.ts';
import { createTrainerRegistry } from '../domain/machine/trainer-registry.ts';
import { lookAtCluster } from '../trainer/cluster.ts';
import { describeTrainer } from '../trainer/describe.ts';
import type { Foundation } from './foundation.ts';

/** What this machine is, its current load, and what it can train. */
export function composeMachine({ config, logger, frames }: Foundation) {
  const machine = createMachineReader(config.dataDir);
  return {
    machine,
    live: createLive(frames, logger, async () => (await machine()).facts.gpus.map(({ name }) => name)),
    cluster: createClusterView(config.cluster?.address ?? null, () => lookAtCluster(config)),
    registry: createTrainerRegistry(() => describeTrainer(config, config.converterDir)),
  };
}
