import type { Services } from '../../../domain/services.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { errorBody, tag } from '../common.ts';
import { evaluationNumber, presentDetail } from '../evaluations/presenters.ts';
import type { Series } from '../frames/schemas.ts';
import { jobDetailOf } from '../jobs/job-detail.ts';
import { jobNumber } from '../jobs/job-number.ts';
import { comparisonReport } from './comparison-report.ts';
import { evaluationReport } from './evaluation-report.ts';
import { reportReply } from './report-page.ts';
import { type RunFacts, runReport } from './run-report.ts';
import * as s from './schemas.ts';

/** The steps of a report's charts, which are drawn with fewer. */
const reportPoints = 5_000;

const report: ResponseDoc = { description: 'The report', contentType: 'text/html' };
const refused: ResponseDoc = { description: 'Invalid parameters', schema: errorBody };
const noJob: ResponseDoc = { description: 'Job not found', schema: errorBody };

/** Runs and evaluations as HTML files to share, alone and side by side. */
export function reportRoutes(services: Services) {
  const { evaluations, jobs } = services;
  const factsOf = async (name: string): Promise<RunFacts> => {
    const id = jobNumber(name);
    const job = await jobDetailOf(services, id);
    return { job, series: jobs.series(id, reportPoints) as Series, data: await jobs.dataDigest(id) };
  };
  return [
    route({
      method: 'GET',
      path: '/api/jobs/{job_id}/report',
      tag,
      summary:
        'A job as one HTML file to share: verdict, charts, settings and the digest of its data; with rows also prompts and answers',
      query: s.reportQuery,
      responses: { 200: report, 404: noJob },
      handle: async ({ params, query }) =>
        reportReply(params.job_id, runReport(await factsOf(params.job_id), query.rows)),
    }),
    route({
      method: 'GET',
      path: '/api/jobs/report',
      tag,
      summary:
        'Jobs side by side as one HTML file to share: verdicts, charts, figures, settings and the digests of their data; with rows also prompts and answers',
      query: s.jobsReportQuery,
      responses: { 200: report, 400: refused, 404: noJob },
      handle: async ({ query }) => {
        const runs: RunFacts[] = [];
        for (const name of query.jobs) runs.push(await factsOf(name));
        return reportReply(query.jobs.join('-'), comparisonReport(runs, query.rows));
      },
    }),
    route({
      method: 'GET',
      path: '/api/evaluations/report',
      tag,
      summary:
        'Evaluations as one HTML file to share: figures and the digests of their rows; with rows also prompts and answers',
      query: s.evaluationsReportQuery,
      responses: {
        200: report,
        400: refused,
        404: { description: 'Evaluation not found', schema: errorBody },
      },
      handle: ({ query }) => {
        const found = query.evaluations.map((name) => presentDetail(evaluations, evaluationNumber(name)));
        return reportReply(query.evaluations.join('-'), evaluationReport(found, query.rows));
      },
    }),
  ];
}
