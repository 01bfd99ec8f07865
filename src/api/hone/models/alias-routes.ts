import * as v from 'valibot';
import { isBaseName } from '../../../domain/base-models/local-models.ts';
import { type ModelReference, referenceKey } from '../../../domain/fine-tuning/model-references.ts';
import { type Alias, type AliasSplit, aliasPattern } from '../../../domain/models/aliases.ts';
import type { Services } from '../../../domain/services.ts';
import { difference, wilson } from '../../../domain/traffic/wilson.ts';
import { AppError } from '../../../errors.ts';
import { route } from '../../../http/route.ts';
import { confirmation, errorBody, refused, tag } from '../common.ts';

const body = v.strictObject({
  name: v.pipe(
    v.string(),
    v.regex(aliasPattern, 'must be like support@live: letters, digits, dots, underscores and hyphens'),
  ),
  model: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
});
const moved = {
  /** The name of the model, checkpoint or base model; `null` if it was deleted. */
  model: v.nullable(v.string()),
  moved_at: v.string(),
};
/** The kept answers of one of two models. */
const side = v.object({
  answers: v.number(),
  up: v.number(),
  down: v.number(),
  /** The share of thumbs up with its interval of 95 % confidence; `null` without a rating. */
  liked: v.nullable(v.object({ share: v.number(), low: v.number(), high: v.number() })),
  /** The mean time of an answer; `null` without an answer. */
  milliseconds: v.nullable(v.number()),
});
const split = v.object({
  model: moved.model,
  percent: v.number(),
  started_at: v.string(),
  current: side,
  candidate: side,
  /** By how much more the candidate is liked, with the interval of 95 % confidence. */
  difference: v.nullable(v.object({ share: v.number(), low: v.number(), high: v.number() })),
  /** The one that is liked more, where the interval says so. */
  better: v.nullable(v.picklist(['current', 'candidate'])),
});
/** What an alias stands for, and what it stood for before, the newest first. */
const alias = v.object({
  name: v.string(),
  ...moved,
  history: v.array(v.object(moved)),
  split: v.nullable(split),
});
const splitBody = v.strictObject({
  model: body.entries.model,
  percent: v.pipe(
    v.number(),
    v.integer('must be a whole number'),
    v.minValue(1, 'must be at least 1'),
    v.maxValue(99, 'must be at most 99; move the alias for all requests'),
  ),
});
const noAlias = { description: 'Alias not found', schema: errorBody };

/** Names that move from model to model. */
export function aliasRoutes({ aliases, modelReferences, models, traffic }: Services) {
  const nameOf = (target: string): string | null => {
    try {
      const { model } = modelReferences.resolve(target);
      return model === target && !isBaseName(target) ? models.findByName(target).name : target;
    } catch {
      return null;
    }
  };
  const keyOf = (target: string): string | null => {
    try {
      return referenceKey(modelReferences.resolve(target));
    } catch {
      return null;
    }
  };
  const presentSplit = (name: string, current: string, { target, percent, startedAt }: AliasSplit) => {
    const totals = traffic.totals(name, Math.floor(Date.parse(startedAt) / 1000));
    const sideOf = (one: string) => {
      const key = keyOf(one);
      const {
        answers = 0,
        up = 0,
        down = 0,
        milliseconds = null,
      } = totals.find(({ answeredBy }) => answeredBy === key) ?? {};
      return { answers, up, down, liked: wilson(up, up + down), milliseconds };
    };
    const sides = { current: sideOf(current), candidate: sideOf(target) };
    const [a, b] = [sides.current.liked, sides.candidate.liked];
    const more = a === null || b === null ? null : difference(a, b);
    const better =
      more === null || (more.low <= 0 && more.high >= 0) ? null : more.low > 0 ? 'candidate' : 'current';
    return {
      model: nameOf(target),
      percent,
      started_at: startedAt,
      current: sides.current,
      candidate: sides.candidate,
      difference: more,
      better: better as 'current' | 'candidate' | null,
    };
  };
  const present = ({ name, moves, split }: Alias): v.InferOutput<typeof alias> => {
    const [now, ...history] = moves.map(({ target, movedAt }) => ({
      model: nameOf(target),
      moved_at: movedAt,
    }));
    const [newest] = moves;
    return {
      name,
      ...(now as (typeof history)[number]),
      history,
      split: split === null || newest === undefined ? null : presentSplit(name, newest.target, split),
    };
  };
  /** A model by its ID, since its name may change. */
  const targetOf = (found: ModelReference, name: string) =>
    found.checkpoint === undefined ? found.model : name;
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
        404: { description: 'Model not found', schema: errorBody },
        409: { description: 'There are as many aliases as possible', schema: errorBody },
      },
      handle: ({ body: { name, model } }) => {
        const found = modelReferences.resolve(model);
        return present(aliases.move(name, targetOf(found, model)));
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
      bodyExample: { model: 'Qwen3-0.6B-support-2', percent: 10 },
      responses: {
        200: { description: 'The alias', schema: alias },
        400: refused,
        404: { description: 'Alias or model not found', schema: errorBody },
      },
      handle: ({ params: { name }, body: { model, percent } }) => {
        const [current] = aliases.get(name).moves;
        const found = modelReferences.resolve(model);
        if (current !== undefined && keyOf(current.target) === referenceKey(found))
          throw new AppError('invalid', `${name} stands for this model already. Choose another one.`);
        return present(aliases.split(name, { target: targetOf(found, model), percent }));
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
