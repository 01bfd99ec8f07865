import { type EvalRun, evalRun, outputItem } from '../../../domain/evals/objects.ts';
import type { Services } from '../../../domain/services.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { error } from '../schemas.ts';
import { evalPage, pageAsked } from './eval-page.ts';
import { runExample } from './examples.ts';
import { asksOf, runBody } from './run-body.ts';
import * as s from './schemas.ts';

const tag = 'openai';
const refused: ResponseDoc = { description: 'Invalid request', schema: error };
const noRun: ResponseDoc = { description: 'Eval or run not found', schema: error };
const runsPath = '/v1/evals/{eval_id}/runs' as const;
const path = `${runsPath}/{run_id}` as const;

/** `/v1/evals/{eval_id}/runs`: rows that are answered, or have answers, and what the graders say of these. */
export function evalRunRoutes({ evals: { runs }, tls }: Services) {
  const present = (run: EvalRun, exchange: Exchange): EvalRun => ({
    ...run,
    report_url: `${tls ? 'https' : 'http'}://${exchange.header('host') ?? 'localhost'}/v1/evals/${run.eval_id}/runs/${run.id}/output_items`,
  });
  return [
    route({
      method: 'POST',
      path: runsPath,
      tag,
      summary: 'Run an eval; the run is queued while another one is executed',
      body: runBody,
      bodyExample: { name: runExample.name, data_source: runExample.data_source },
      responses: {
        200: { description: 'The run', schema: evalRun },
        400: refused,
        403: { description: 'Clients on other machines may not run such a grader', schema: error },
        404: { description: 'Eval, model or file not found', schema: error },
        429: { description: 'The queue is full', schema: error },
      },
      async handle({ params, body, exchange }) {
        const { name, metadata, data_source: dataSource } = body;
        const made = await runs.start(
          params.eval_id,
          {
            name: name ?? '',
            metadata: metadata ?? null,
            dataSource,
            source: dataSource.source,
            asks: asksOf(dataSource),
          },
          exchange.peer,
        );
        return present(made, exchange);
      },
    }),
    route({
      method: 'GET',
      path: runsPath,
      tag,
      summary: 'List the runs of an eval',
      query: s.runQuery,
      responses: { 200: { description: 'The runs', schema: s.runs }, 400: refused, 404: noRun },
      handle({ params, query, exchange }) {
        const page = evalPage(query, runs.list(params.eval_id, pageAsked(query)));
        return { ...page, data: page.data.map((run) => present(run, exchange)) };
      },
    }),
    route({
      method: 'GET',
      path,
      tag,
      summary: 'Get a run of an eval, with its results so far',
      responses: { 200: { description: 'The run', schema: evalRun }, 404: noRun },
      handle: ({ params, exchange }) => present(runs.get(params.eval_id, params.run_id), exchange),
    }),
    // Older clients of OpenAI post to the run itself.
    ...[`${path}/cancel` as const, path].map((at) =>
      route({
        method: 'POST',
        path: at,
        tag,
        summary: 'Cancel a run; its results so far are kept',
        responses: { 200: { description: 'The run', schema: evalRun }, 400: refused, 404: noRun },
        handle: async ({ params, exchange }) =>
          present(await runs.cancel(params.eval_id, params.run_id), exchange),
      }),
    ),
    route({
      method: 'DELETE',
      path,
      tag,
      summary: 'Delete a run with its results',
      responses: { 200: { description: 'The run was deleted', schema: s.deletedRun }, 404: noRun },
      async handle({ params: { eval_id, run_id } }) {
        await runs.remove(eval_id, run_id);
        return { object: 'eval.run.deleted' as const, deleted: true as const, run_id };
      },
    }),
    route({
      method: 'GET',
      path: `${path}/output_items`,
      tag,
      summary: 'List the rows of a run that are scored, with their answers and results',
      query: s.itemQuery,
      responses: { 200: { description: 'The output items', schema: s.items }, 400: refused, 404: noRun },
      handle: ({ params, query }) =>
        evalPage(query, runs.items(params.eval_id, params.run_id, pageAsked(query))),
    }),
    route({
      method: 'GET',
      path: `${path}/output_items/{output_item_id}`,
      tag,
      summary: 'Get a row of a run with its answer and results',
      responses: {
        200: { description: 'The output item', schema: outputItem },
        404: { description: 'Eval, run or output item not found', schema: error },
      },
      handle: ({ params }) => runs.item(params.eval_id, params.run_id, params.output_item_id),
    }),
  ];
}
