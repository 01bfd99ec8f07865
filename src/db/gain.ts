/**
 * How much lower the evaluation loss of a run or a model is than that of its base model, as a share of it, as SQL; NULL where
 * one of them is unknown, and for strategies whose loss says nothing about answers.
 * @param job the column with the number of the run.
 * @param metrics the column with the results.
 */
export const gainOf = (table: 'jobs' | 'models', job: string, metrics: string): string =>
  `CASE WHEN ${table}.strategy NOT IN ('rlhf', 'grpo') THEN 1 - json_extract(${table}.${metrics}, '$.eval_loss') / nullif((
     SELECT CAST(json_extract(payload, '$.metrics.eval_loss') AS REAL) FROM events
     WHERE type = 'metrics' AND events.job_id = ${table}.${job} AND kind = 'eval' AND step = 0
     ORDER BY seq DESC LIMIT 1
   ), 0) END`;
