import * as v from 'valibot';
import { isBaseName } from '../../../domain/base-models/local-models.ts';
import { type Alias, aliasPattern } from '../../../domain/models/aliases.ts';
import type { Services } from '../../../domain/services.ts';
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
/** What an alias stands for, and what it stood for before, the newest first. */
const alias = v.object({ name: v.string(), ...moved, history: v.array(v.object(moved)) });
const noAlias = { description: 'Alias not found', schema: errorBody };

/** Names that move from model to model. */
export function aliasRoutes({ aliases, modelReferences, models }: Services) {
  const nameOf = (target: string): string | null => {
    try {
      const { model } = modelReferences.resolve(target);
      return model === target && !isBaseName(target) ? models.findByName(target).name : target;
    } catch {
      return null;
    }
  };
  const present = ({ name, moves }: Alias): v.InferOutput<typeof alias> => {
    const [now, ...history] = moves.map(({ target, movedAt }) => ({
      model: nameOf(target),
      moved_at: movedAt,
    }));
    return { name, ...(now as (typeof history)[number]), history };
  };
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
        return present(aliases.move(name, found.checkpoint === undefined ? found.model : model));
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
