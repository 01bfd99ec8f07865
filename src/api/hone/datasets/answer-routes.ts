import { setImmediate } from 'node:timers/promises';
import * as v from 'valibot';
import { ratings } from '../../../contract/graders/feedback.ts';
import type { Services } from '../../../domain/services.ts';
import {
  createAnswerRows,
  rowKinds,
  skipReasonNames,
  skipReasons,
} from '../../../domain/traffic/answer-rows.ts';
import { refusalOf } from '../../../faults.ts';
import { route } from '../../../http/route.ts';
import { notList, refused, tag } from '../common.ts';
import { presentStored } from './presenters.ts';
import { tooManyUploads } from './responses.ts';
import { stored } from './schemas.ts';

/** As many answers are read at a time, and at most. */
const pageAnswers = 200;
const mostAnswers = 20_000;

const text = v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024));
const body = v.strictObject({
  kind: v.picklist(rowKinds, `must be one of ${rowKinds.join(', ')}`),
  model: v.optional(text),
  rating: v.optional(v.picklist([...ratings, 'any'], 'must be up, down or any')),
  search: v.optional(v.pipe(v.string(), v.maxLength(200))),
  metadata: v.optional(v.intersect([v.record(v.string(), v.string()), notList])),
});
const count = v.number();

/** Rows of answers that clients asked to keep. */
export function answerRoutes({ datasets, traffic }: Services) {
  return [
    route({
      method: 'POST',
      path: '/api/datasets/{name}/answers',
      tag,
      summary: 'Add rows of kept answers and their corrections to a dataset, which is made if there is none',
      body,
      bodyExample: { kind: 'preference', rating: 'down' },
      responses: {
        200: {
          description:
            'The dataset, with the number of rows that were added and of answers that were not, by their reasons',
          schema: v.object({
            ...stored.entries,
            added: count,
            skipped: v.object(
              Object.fromEntries(skipReasonNames.map((reason) => [reason, count])) as Record<
                keyof typeof skipReasons,
                typeof count
              >,
            ),
          }),
        },
        400: refused,
        503: tooManyUploads,
      },
      handle: async ({ params, body: { kind, ...filter }, exchange }) => {
        const { rows, skipped, add } = createAnswerRows(kind);
        let after: string | undefined;
        for (let read = 0; read < mostAnswers; ) {
          // What is deleted meanwhile ends the list.
          const page = traffic.list({ ...filter, after, limit: pageAnswers, order: 'asc' });
          for (const answer of page?.answers ?? []) add(answer);
          read += page?.answers.length ?? 0;
          after = page?.answers.at(-1)?.id;
          if (!page?.hasMore || exchange.aborted) break;
          await setImmediate();
        }
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
