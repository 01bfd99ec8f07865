import type { ResponseDoc } from '../../../http/route.ts';
import { errorBody } from '../common.ts';

/** The errors of several routes of datasets. */
export const noDataset: ResponseDoc = { description: 'Dataset not found', schema: errorBody };
export const tooManyUploads: ResponseDoc = {
  description: 'Too many uploads in progress',
  schema: errorBody,
};
export const changed: ResponseDoc = {
  description: 'The rows have changed since this version',
  schema: errorBody,
};
export const diskFull: ResponseDoc = { description: 'The disk is full', schema: errorBody };
