import * as v from 'valibot';
import type { Services } from '../../../domain/services.ts';
import { skipReasonNames, skipReasons } from '../../../domain/traffic/answer-rows.ts';
import { refusalOf } from '../../../faults.ts';
import { route } from '../../../http/route.ts';
import { errorBody, refused, tag } from '../common.ts';
import { makeRows, presentAlike } from '../traffic/make-rows.ts';
import { alike, masked, noMasking, rowsBody, skipped as skippedCounts } from '../traffic/schemas.ts';
import { presentStored } from './presenters.ts';
import { tooManyUploads } from './responses.ts';
import { stored } from './schemas.ts';

/** Rows of answers that clients asked to keep. */
export function answerRoutes({ datasets, masking, traffic }: Services) {
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
          schema: v.object({
            ...stored.entries,
            added: v.number(),
            skipped: skippedCounts,
            ...alike,
            masked,
          }),
        },
        400: refused,
        404: { description: 'Validation dataset not found', schema: errorBody },
        409: noMasking,
        503: tooManyUploads,
      },
      handle: async ({ params, body, exchange }) => {
        const made = await makeRows({ datasets, masking, traffic }, body, exchange);
        const { rows, skipped, masked } = made;
        if (rows.length === 0) {
          const why = skipReasonNames
            .filter((reason) => skipped[reason] > 0)
            .map((reason) => `${skipped[reason]} ${skipReasons[reason]}`);
          const words = why.length === 0 ? 'no kept answer matches' : why.join(', ');
          throw refusalOf('kind', `No row can be made: ${words}`);
        }
        const dataset = await datasets.addRows(params.name, rows);
        return { ...presentStored(dataset), added: rows.length, skipped, ...presentAlike(made), masked };
      },
    }),
  ];
}
