import { unfinishedStates } from '../contract/jobs.ts';
import type { Services } from '../domain/services.ts';
import { createWarmTrainer, type WarmTrainer } from '../trainer/processes/warm.ts';
import type { Foundation } from './foundation.ts';

/**
 * Free memory required to start a warm trainer: its imports (0.9 GB with PyTorch's CUDA build) and the same amount as
 * headroom.
 */
const warmTrainerBytes = 2 * 2 ** 30;

/** The trainer that is loaded before it is needed. */
export function composeWarmTrainer(
  { config, logger, store }: Foundation,
  { machine }: Pick<Services, 'machine'>,
): WarmTrainer {
  return createWarmTrainer({
    command: config,
    idleMs: config.limits.warmTrainerIdleMs,
    possible: async () => {
      const { facts } = await machine();
      const hasRoom = facts.ramAvailableBytes > warmTrainerBytes;
      // A GPU driver's state does not survive a fork.
      return hasRoom && facts.gpus.length === 0 && store.jobs.inStates(unfinishedStates).length === 0;
    },
    onReady: () => logger.debug('A trainer is warm'),
    onProblem: (problem) => logger.warn({ problem }, 'No warm trainer; each training starts a new process'),
  });
}
