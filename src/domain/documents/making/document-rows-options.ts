import type { Store } from '../../../db/store.ts';
import type { Datasets } from '../../datasets/datasets.ts';
import type { Graders } from '../../graders/graders.ts';
import type { Documents } from '../documents.ts';
import type { TeacherOptions } from './teacher.ts';

export interface DocumentRowsOptions extends TeacherOptions {
  readonly store: Store;
  readonly documents: Documents;
  readonly datasets: Pick<Datasets, 'upload' | 'find' | 'digest' | 'file' | 'get'>;
  readonly graders: Graders;
  readonly queueLimit: number;
  readonly logger: { warn(fields: object, text: string): void };
}
