import * as v from 'valibot';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

export const binEntry = v.object({
  id: v.string(),
  kind: v.picklist(['run', 'model', 'dataset', 'evaluation', 'sweep', 'chat']),
  /** What the API knows it by: a `job_id`, `model_id`, dataset name, `evaluation_id`, `sweep_id` or the ID of a chat. */
  ref: v.string(),
  /** What people call it. */
  name: v.string(),
  /** Of its files and of what the database has of it. */
  size_bytes: count,
  deleted_at: v.string(),
  /** When it is deleted for good. */
  expires_at: v.string(),
});
export const bin = v.object({
  /** The latest first. */
  entries: v.array(binEntry),
  size_bytes: count,
  /** Something larger is deleted for good; 0 while the disk is nearly full. */
  limit_bytes: count,
});
export type BinEntry = v.InferOutput<typeof binEntry>;
export type Bin = v.InferOutput<typeof bin>;
export const restored = v.object({ status: v.literal('restored'), message: v.string(), entry: binEntry });
