import type { InferOutput } from 'valibot';
import type * as finetune from '../../src/api/finetune/schemas.ts';
import type * as flat from '../../src/api/flat/schemas.ts';
import type * as hone from '../../src/api/hone/schemas.ts';

/** Bodies of the routes that the page calls, as the route table's own schemas type them. */
export type Job = InferOutput<typeof hone.job>;
export type JobDetail = InferOutput<typeof hone.jobDetail>;
export type JobPage = InferOutput<typeof hone.jobs>;
export type Info = InferOutput<typeof flat.info>;
export type Dataset = InferOutput<typeof flat.datasets>['datasets'][number];
export type Model = InferOutput<typeof finetune.listedModel>;
export type ModelDetail = InferOutput<typeof finetune.detailedModel>;
export type HardwareSpecs = InferOutput<typeof finetune.hardwareSpecs>;
export type RecommendedSettings = InferOutput<typeof finetune.settings>;
export type CheckedModel = InferOutput<typeof finetune.validatedCustomModel>;
export type Started = InferOutput<typeof finetune.started>;
export type Estimate = InferOutput<typeof hone.estimate>;
export type DatasetDetail = InferOutput<typeof hone.dataset>;
export type Preview = InferOutput<typeof hone.preview>;
export type Lineage = InferOutput<typeof hone.lineage>;
export type ModelFile = Lineage['files'][number];
export type Choices = InferOutput<typeof hone.choices>;
export type Recommendations = InferOutput<typeof hone.recommendations>;
export type Recommendation = Recommendations['recommendations'][number];
export type Example = InferOutput<typeof hone.examples>['examples'][number];
export type Generated = InferOutput<typeof finetune.generated>;

/** What an upload answers: the schema's fields, with the faults of rows one by one. */
export interface RowFault {
  readonly line: number | null;
  readonly field: string | null;
  readonly message: string;
}
export type Uploaded = InferOutput<typeof flat.uploaded> & {
  readonly validation: {
    readonly total_errors?: number;
    readonly shape?: string | null;
    readonly details?: readonly RowFault[];
  };
};
