import { type ChildProcess, spawn } from 'node:child_process';
import { type TrainerCommand, trainerEnvironment } from './processes/supervisor.ts';

/** The environment of a process that answers: that of a training without a cluster, and offline. */
export const answeringEnvironment = (command: TrainerCommand): NodeJS.ProcessEnv => ({
  ...trainerEnvironment({ ...command, cluster: null }, null),
  HF_HUB_OFFLINE: '1',
});

/** Starts `python -m trainer answer`, which speaks JSON lines on its standard streams (trainer/answering/main.py). */
export const startAnswering = (command: TrainerCommand): ChildProcess =>
  spawn(command.pythonPath, ['-m', 'trainer', 'answer'], {
    cwd: command.installDir,
    env: answeringEnvironment(command),
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
  });
