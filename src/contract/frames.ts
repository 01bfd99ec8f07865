/**
 * The types of frames that go to all sockets of `/ws/training`. The first frame on a socket is a `snapshot` for that
 * socket only.
 */
export type FrameType =
  | 'status'
  | 'progress'
  | 'metrics'
  | 'log'
  | 'gpu'
  | 'export'
  | 'model'
  | 'identity'
  | 'import'
  | 'download'
  | 'analysis'
  | 'sweep'
  | 'evaluation';

/** The kinds of `log` frames. */
export const logKinds = ['warning', 'checkpoint', 'sample', 'engine', 'resume', 'tracker'] as const;
/** The kinds of `model` frames. */
export const modelActions = ['created', 'deleted', 'restored', 'push'] as const;
/** The states of a push to the hub. */
export const pushStates = ['comparing', 'uploading', 'committing', 'done', 'failed', 'cancelled'] as const;
export type PushState = (typeof pushStates)[number];
/** The states of an export of a kept model: it waits while a training or another export runs. */
export const exportTaskStates = ['waiting', 'running', 'completed', 'failed', 'cancelled'] as const;
export type ExportTaskState = (typeof exportTaskStates)[number];
