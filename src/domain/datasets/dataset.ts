import type { DatasetRow } from '../../db/tables/datasets.ts';
import type { Validation } from './rows/row-validator.ts';

/** A stored dataset. */
export type Dataset = DatasetRow<Validation>;
