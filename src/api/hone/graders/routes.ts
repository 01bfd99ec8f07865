import type * as v from 'valibot';
import { graderExample, namedGrader } from '../../../domain/graders/grader-definition.ts';
import type { GradedRow, Grader } from '../../../domain/graders/graders.ts';
import { promptOf } from '../../../domain/graders/prompt-of.ts';
import type { Services } from '../../../domain/services.ts';
import { refusalOf } from '../../../faults.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { confirmation, errorBody, refused, tag } from '../common.ts';
import * as s from './schemas.ts';

const notHere: ResponseDoc = {
  description: 'Clients on other machines may not define such a grader',
  schema: errorBody,
};
const noGrader: ResponseDoc = { description: 'Grader not found', schema: errorBody };

/** Graders: what good means, once, for evaluations and trainings. */
export function graderRoutes(services: Services) {
  const { graders } = services;
  return [
    route({
      method: 'GET',
      path: '/api/graders',
      tag,
      access: 'train',
      summary: 'List the graders by name',
      responses: { 200: { description: 'The graders', schema: s.graderList } },
      handle: () => ({ graders: graders.list().map(presentGrader) }),
    }),
    route({
      method: 'POST',
      path: '/api/graders',
      tag,
      summary: 'Store a grader: what says how good an answer is',
      body: namedGrader,
      bodyExample: graderExample,
      responses: {
        200: { description: 'The grader', schema: s.grader },
        400: refused,
        403: notHere,
        409: { description: 'The name is taken', schema: errorBody },
      },
      async handle({ body, exchange }) {
        graders.requireAllowed(body, exchange.peer);
        return presentGrader(await graders.create(body, exchange.signal));
      },
    }),
    route({
      method: 'POST',
      path: '/api/graders/test',
      tag,
      summary: 'Score rows with a grader, and answers that are given or asked of a model',
      body: s.graderTest,
      bodyExample: {
        grader: graderExample,
        rows: [{ item: { input: 'You took the fee two times.', output: 'Billing' }, answer: 'Billing' }],
      },
      responses: {
        200: { description: 'The scores, each explained', schema: s.graderScores },
        400: refused,
        403: notHere,
        404: { description: 'Grader or model not found', schema: errorBody },
      },
      async handle({ body, exchange }) {
        const definition =
          typeof body.grader === 'string' ? graders.get(body.grader).definition : body.grader;
        if (typeof body.grader !== 'string') graders.requireAllowed(body.grader, exchange.peer);
        const rows: GradedRow[] = [];
        for (const [at, { item, answer, tool_calls: calls }] of body.rows.entries()) {
          const sample =
            answer == null && calls.length === 0
              ? await askModel(services, item, at, body, exchange)
              : { output_text: answer ?? '', output_tools: calls };
          rows.push({ item, sample });
        }
        const scores = await graders.score(definition, rows, exchange.signal);
        return {
          results: scores.map((score, at) => ({ answer: rows[at]?.sample.output_text ?? '', ...score })),
          mean: scores.reduce((sum, { value }) => sum + value, 0) / scores.length,
          errors: scores.filter(({ error }) => error !== null).length,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/graders/{name}',
      tag,
      access: 'train',
      summary: 'Get a grader',
      responses: { 200: { description: 'The grader', schema: s.grader }, 404: noGrader },
      handle: ({ params }) => presentGrader(graders.get(params.name)),
    }),
    route({
      method: 'PUT',
      path: '/api/graders/{name}',
      tag,
      summary: 'Replace a grader; evaluations that are queued keep the earlier one',
      body: namedGrader,
      bodyExample: graderExample,
      responses: {
        200: { description: 'The grader', schema: s.grader },
        400: refused,
        403: notHere,
        404: noGrader,
      },
      async handle({ params, body, exchange }) {
        graders.requireAllowed(body, exchange.peer);
        return presentGrader(await graders.replace(params.name, body, exchange.signal));
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/graders/{name}',
      tag,
      summary: 'Delete a grader; the scores that it gave are kept',
      responses: { 200: { description: 'The grader was deleted', schema: confirmation }, 404: noGrader },
      handle: ({ params }) => {
        graders.remove(params.name);
        return { status: 'deleted', message: `${params.name} was deleted` };
      },
    }),
  ];
}

const presentGrader = ({ name, definition, createdAt, updatedAt }: Grader): s.Grader => ({
  name,
  grader: definition,
  created_at: createdAt,
  updated_at: updatedAt,
});

/** The answer of the model to the row in place `at`. */
async function askModel(
  { models, playground }: Services,
  item: Readonly<Record<string, unknown>>,
  at: number,
  { model, max_tokens: maxTokens }: v.InferOutput<typeof s.graderTest>,
  { peer, signal }: Exchange,
): Promise<GradedRow['sample']> {
  if (model == null) throw refusalOf('model', `Row ${at + 1} has no answer: add one, or set model to ask it`);
  const messages = promptOf(item);
  if (messages === null)
    throw refusalOf(
      'rows',
      `Row ${at + 1} has nothing to ask a model: add messages, prompt, input or question, or an answer`,
    );
  const { text, calls } = await playground.generate(
    {
      model: models.findByName(model).modelId,
      input: { kind: 'messages', messages },
      maxTokens,
      temperature: 0,
      topP: 1,
      caller: peer.address,
    },
    { signal },
  );
  const output_tools = calls.map(({ name, arguments: given }) => ({
    type: 'function',
    function: { name, arguments: given },
  }));
  return { output_text: text, output_tools };
}
