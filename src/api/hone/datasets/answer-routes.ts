import * as v from 'valibot';
import type { Services } from '../../../domain/services.ts';
import { rowsOfAnswers, skipReasonNames, skipReasons } from '../../../domain/traffic/answer-rows.ts';
import { refusalOf } from '../../../faults.ts';
import { route } from '../../../http/route.ts';
import { refused, tag } from '../common.ts';
import { rowsBody, skipped as skippedCounts } from '../traffic/schemas.ts';
import { presentStored } from './presenters.ts';
import { tooManyUploads } from './responses.ts';
import { stored } from './schemas.ts';

/** Rows of answers that clients asked to keep. */
export function answerRoutes({ datasets, traffic }: Services) {
  return [
    route({
      method: 'POST',
      path: '/api/datasets/{name}/answers',
      tag,
      summary: 'Add rows of kept answers and their corrections to a dataset, which is made if there is none',
      body: rowsBody,
      bodyExample: { kind: 'preference', rating: 'down' },
      responses: {
        200: {
          description:
            'The dataset, with the number of rows that were added and of answers that were not, by their reasons',
          schema: v.object({ ...stored.entries, added: v.number(), skipped: skippedCounts }),
        },
        400: refused,
        503: tooManyUploads,
      },
      handle: async ({ params, body: { kind, ...filter }, exchange }) => {
        const { rows, skipped } = await rowsOfAnswers(traffic, kind, filter, () => exchange.aborted);
        if (rows.length === 0) {
          const why = skipReasonNames
            .filter((reason) => skipped[reason] > 0)
            .map((reason) => `${skipped[reason]} ${skipReasons[reason]}`);
          const words = why.length === 0 ? 'no kept answer matches' : why.join(', ');
          throw refusalOf('kind', `No row can be made: ${words}`);
        }
        const dataset = await datasets.addRows(params.name, rows);
        return { ...presentStored(dataset), added: rows.length, skipped };
      },
    }),
  ];
}
