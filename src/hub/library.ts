import type { HubApiError } from '@huggingface/hub';

/**
 * The hub's library. Loading it takes a fifth of the CPU time of a start, so the first call that needs it loads it.
 */
export const hubLibrary = () => import('@huggingface/hub');

/** Whether an error is of the library's class; told by its fields, which does not load the library. */
export const isHubApiError = (error: unknown): error is HubApiError =>
  error instanceof Error && 'statusCode' in error && 'url' in error;
