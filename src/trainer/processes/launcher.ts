import {
  downloadSecrets,
  startTrainer,
  type Trainer,
  type TrainerCommand,
  trainerEnvironment,
} from './supervisor.ts';
import type { WarmTrainer } from './warm.ts';

/** Starts trainers: forked from the warm trainer if there is one, otherwise as a new process. */
export interface Launcher {
  /**
   * Starts the trainer of a job folder.
   * @param downloads whether it may download a model from the hub; only then it receives the hub token.
   * @param devices variables that say which devices it may use.
   */
  launch(jobDir: string, downloads: boolean, devices: NodeJS.ProcessEnv): Promise<Trainer>;
}

export function createLauncher(options: {
  readonly command: TrainerCommand;
  readonly warm: WarmTrainer;
  /** The hub token at each start. */
  readonly hub: { readonly token: string | null };
}): Launcher {
  const { command, warm, hub } = options;
  return {
    async launch(jobDir, downloads, devices) {
      const secrets = downloads ? downloadSecrets(command, hub.token) : null;
      // The warm trainer started without secrets, and its imported libraries have already read the environment.
      const forked = secrets === null ? await warm.start(jobDir, devices) : null;
      if (forked !== null) return forked;
      return startTrainer(command, jobDir, { ...trainerEnvironment(command, secrets), ...devices });
    },
  };
}
