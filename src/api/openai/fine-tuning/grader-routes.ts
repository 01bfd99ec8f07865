import { type GraderDefinition, graderExample } from '../../../domain/graders/grader-definition.ts';
import type { GraderRun } from '../../../domain/graders/graders.ts';
import type { Services } from '../../../domain/services.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import * as s from '../schemas.ts';
import * as g from './grader-schemas.ts';

const tag = 'openai';
const refused: ResponseDoc = { description: 'Invalid request', schema: s.error };
const notHere: ResponseDoc = {
  description: 'Clients on other machines may not define such a grader',
  schema: s.error,
};

/** `/v1/fine_tuning/alpha/graders`: a grader is validated, or run on one answer, and not stored. */
export function graderRoutes({ graders }: Services) {
  return [
    route({
      method: 'POST',
      path: '/v1/fine_tuning/alpha/graders/validate',
      tag,
      summary: 'Validate a grader',
      body: g.validateBody,
      bodyExample: { grader: graderExample },
      responses: {
        200: { description: 'The grader', schema: g.validated },
        400: refused,
        403: notHere,
      },
      async handle({ body: { grader }, exchange }) {
        graders.requireAllowed(grader, exchange.peer);
        await graders.score(grader, [], exchange.signal);
        return { grader };
      },
    }),
    route({
      method: 'POST',
      path: '/v1/fine_tuning/alpha/graders/run',
      tag,
      summary: 'Score an answer with a grader',
      body: g.runBody,
      bodyExample: { grader: graderExample, item: { output: 'Billing' }, model_sample: 'Billing' },
      responses: { 200: { description: 'The score', schema: g.ran }, 400: refused, 403: notHere },
      async handle({ body: { grader, item, model_sample: text }, exchange }) {
        graders.requireAllowed(grader, exchange.peer);
        const from = performance.now();
        const row = { item: item ?? {}, sample: { output_text: text, output_tools: [] } };
        const run = await graders.run(grader, row, exchange.signal);
        return present(grader, run, (performance.now() - from) / 1000);
      },
    }),
  ];
}

function present(grader: GraderDefinition, { score, usage }: GraderRun, seconds: number): g.Ran {
  const { kinds, error, parts } = score;
  const told = Object.fromEntries(g.flags.map((flag) => [flag, kinds.includes(flag)])) as Record<
    (typeof g.flags)[number],
    boolean
  >;
  const taken = Object.entries(usage).map(([model, { prompt_tokens = 0, completion_tokens = 0 }]) => {
    const total_tokens = prompt_tokens + completion_tokens;
    return [model, { prompt_tokens, completion_tokens, total_tokens }] as const;
  });
  return {
    reward: score.value,
    metadata: {
      name: grader.name ?? grader.type,
      type: grader.type,
      errors: {
        ...told,
        model_grader_server_error_details: told.model_grader_server_error ? error : null,
        python_grader_runtime_error_details: told.python_grader_runtime_error ? error : null,
        python_grader_server_error_type: told.python_grader_server_error ? error : null,
      },
      execution_time: seconds,
      scores: parts,
      token_usage: taken.length === 0 ? null : taken.reduce((sum, [, one]) => sum + one.total_tokens, 0),
      sampled_model_name: taken[0]?.[0] ?? null,
    },
    sub_rewards: parts,
    model_grader_token_usage_per_model: Object.fromEntries(taken),
  };
}
