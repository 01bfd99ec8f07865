import * as v from 'valibot';
import { referenceKey } from '../../../domain/fine-tuning/model-references.ts';
import { aliasPattern, namedSplit } from '../../../domain/models/aliases.ts';
import { remoteKey } from '../../../domain/remote-models/remote-models.ts';
import type { Services } from '../../../domain/services.ts';
import { AppError } from '../../../errors.ts';
import { route } from '../../../http/route.ts';
import { confirmation, errorBody, refused, tag } from '../common.ts';
import { alias, createAliasPresenter, secondsOf } from './present-alias.ts';

const body = v.strictObject({
  name: v.pipe(
    v.string(),
    v.check(
      (text) => aliasPattern.test(namedSplit(text).name),
      'must be like support@live (letters, digits, dots, underscores and hyphens), or support@live:split=10 to split it',
    ),
    v.description(
      'With `:split=N` behind it, from 1 to 99, the alias is split: the model answers N % of the conversations.',
    ),
  ),
  model: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
});
const splitBody = v.strictObject({
  model: body.entries.model,
  percent: v.pipe(
    v.number(),
    v.integer('must be a whole number'),
    v.minValue(1, 'must be at least 1'),
    v.maxValue(99, 'must be at most 99; move the alias for all requests'),
  ),
  grader: v.pipe(
    v.optional(v.nullable(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(256)))),
    v.description('The name of a grader that scores the answers of both, from 0 to 1.'),
  ),
});
const gradeBody = v.strictObject({
  retry_failed: v.pipe(
    v.optional(v.boolean(), false),
    v.description('Also score the answers again that the grader could not score.'),
  ),
});
const graded = v.object({
  graded: v.number(),
  failed: v.number(),
  /** Why the first of those that failed has no score. */
  error: v.nullable(v.string()),
  alias,
});
const noAlias = { description: 'Alias not found', schema: errorBody };

/** Names that move from model to model. */
export function aliasRoutes(services: Services) {
  const { aliases, answerGrades, modelReferences } = services;
  const { keyOf, present } = createAliasPresenter(services);
  /** What a name stands for: a model by its ID, since its name may change. @throws AppError `not_found`. */
  function find(name: string): { readonly target: string; readonly key: string } {
    const remote = modelReferences.remoteOf(name);
    if (remote !== null) return { target: remote.name, key: remoteKey(remote) };
    const found = modelReferences.resolve(name);
    return { target: found.checkpoint === undefined ? found.model : name, key: referenceKey(found) };
  }
  /** @throws AppError `not_found`, or `invalid` for the model that it stands for, or a wrong grader. */
  function split(name: string, model: string, percent: number, grader: string | null) {
    const [current] = aliases.get(name).moves;
    const { target, key } = find(model);
    if (current !== undefined && keyOf(current.target) === key)
      throw new AppError('invalid', `${name} stands for this model already. Choose another one.`);
    if (grader !== null) answerGrades.require(grader);
    return aliases.split(name, { target, percent, grader });
  }
  return [
    route({
      method: 'GET',
      path: '/api/aliases',
      tag,
      summary: 'List the aliases, with the models that they stand for',
      responses: { 200: { description: 'The aliases', schema: v.object({ aliases: v.array(alias) }) } },
      handle: () => ({ aliases: aliases.list().map(present) }),
    }),
    route({
      method: 'POST',
      path: '/api/aliases',
      tag,
      summary: 'Let a name stand for a model; requests that are being answered go on with the one before',
      body,
      bodyExample: { name: 'support@live', model: 'Qwen3-0.6B-support' },
      responses: {
        200: { description: 'The alias', schema: alias },
        400: refused,
        404: { description: 'Model not found, or no alias to split', schema: errorBody },
        409: { description: 'There are as many aliases as possible', schema: errorBody },
      },
      handle: ({ body: { name: text, model } }) => {
        const { name, percent } = namedSplit(text);
        return present(
          percent === null ? aliases.move(name, find(model).target) : split(name, model, percent, null),
        );
      },
    }),
    route({
      method: 'POST',
      path: '/api/aliases/{name}/undo',
      tag,
      summary: 'Let an alias stand for what it stood for before its last move',
      responses: {
        200: { description: 'The alias', schema: alias },
        404: noAlias,
        409: { description: 'It was never moved', schema: errorBody },
      },
      handle: ({ params }) => present(aliases.undo(params.name)),
    }),
    route({
      method: 'POST',
      path: '/api/aliases/{name}/split',
      tag,
      summary: 'Let another model answer a share of the conversations of an alias, to compare the two',
      body: splitBody,
      bodyExample: { model: 'Qwen3-0.6B-support-2', percent: 10, grader: 'right-label' },
      responses: {
        200: { description: 'The alias', schema: alias },
        400: refused,
        404: { description: 'Alias or model not found', schema: errorBody },
      },
      handle: ({ params: { name }, body: { model, percent, grader = null } }) =>
        present(split(name, model, percent, grader)),
    }),
    route({
      method: 'POST',
      path: '/api/aliases/{name}/split/grade',
      tag,
      summary: 'Score the newest 20 answers of a split that its grader has not looked at yet',
      body: gradeBody,
      bodyExample: { retry_failed: false },
      responses: {
        200: { description: 'What became of them, and the alias', schema: graded },
        400: refused,
        404: { description: 'Alias or grader not found', schema: errorBody },
        409: { description: 'The alias is not split, or the split has no grader', schema: errorBody },
      },
      handle: async ({ params: { name }, body: { retry_failed: retries }, exchange }) => {
        const { split: current } = aliases.get(name);
        if (current === null || current.grader === null)
          throw new AppError('conflict', `${name} has no split with a grader. Start one first.`);
        const those = { model: name, since: secondsOf(current) };
        const done = await answerGrades.grade(current.grader, those, retries, exchange.signal);
        return { ...done, alias: present(aliases.get(name)) };
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/aliases/{name}/split',
      tag,
      summary: 'Let the model of an alias answer all requests again',
      responses: { 200: { description: 'The alias', schema: alias }, 404: noAlias },
      handle: ({ params: { name } }) => present(aliases.split(name, null)),
    }),
    route({
      method: 'DELETE',
      path: '/api/aliases/{name}',
      tag,
      summary: 'Delete an alias; the model that it stands for stays',
      responses: { 200: { description: 'The alias was deleted', schema: confirmation }, 404: noAlias },
      handle: ({ params: { name } }) => {
        aliases.remove(name);
        return { status: 'deleted', message: `The alias ${name} was deleted` };
      },
    }),
  ];
}
