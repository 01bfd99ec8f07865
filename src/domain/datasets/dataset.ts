import type { DatasetRow } from '../../db/datasets.ts';
import type { Validation } from './rows/row-validator.ts';

/** A stored dataset. */
export type Dataset = DatasetRow<Validation>;
