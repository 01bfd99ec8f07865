import * as v from 'valibot';

/** As many as can be told apart in a chart. */
const most = 6;

const rows = v.optional(
  v.pipe(
    v.picklist(['true', 'false'], 'must be true or false'),
    v.transform((text) => text === 'true'),
  ),
  'false',
);
const names = (prefix: string, what: string) =>
  v.pipe(
    v.string(),
    v.regex(
      new RegExp(`^${prefix}_\\d{1,15}(?:,${prefix}_\\d{1,15}){0,${most - 1}}$`),
      `must be the IDs of one to ${most} ${what}, separated by commas`,
    ),
    v.transform((text) => [...new Set(text.split(','))]),
  );

export const reportQuery = v.object({
  /** Whether prompts and answers are in it: they are rows of the dataset. */
  rows,
});
export const jobsReportQuery = v.object({
  /** The IDs of the jobs, separated by commas. */
  jobs: names('train', 'jobs'),
  ...reportQuery.entries,
});
export const evaluationsReportQuery = v.object({
  /** The IDs of the evaluations, separated by commas. */
  evaluations: names('eval', 'evaluations'),
  ...reportQuery.entries,
});
