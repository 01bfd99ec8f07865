import { isBaseName } from '../../domain/base-models/local-models.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import type { Model } from '../../domain/models/models.ts';
import type { RemoteModel } from '../../domain/remote-models/remote-models.ts';
import type { Services } from '../../domain/services.ts';
import { type ResponseDoc, route } from '../../http/route.ts';
import { deleted } from './fine-tuning/file-schemas.ts';
import { unixSeconds } from './page.ts';
import * as s from './schemas.ts';

const tag = 'openai';
const noModel: ResponseDoc = { description: 'Model not found', schema: s.error };
/** A name may have slashes, which some clients leave as they are. */
const path = '/v1/models/{model:path}';

const present = (model: Model) => ({
  id: model.name,
  object: 'model',
  created: unixSeconds(model.createdAt),
  owned_by: 'hone',
  export: model.export,
});

const presentAlias = ({ name, moves }: Alias) => ({
  id: name,
  object: 'model',
  created: unixSeconds(moves[0]?.movedAt ?? ''),
  owned_by: 'hone',
});

const presentRemote = ({ name, url, createdAt }: RemoteModel) => ({
  id: name,
  object: 'model',
  created: unixSeconds(createdAt),
  owned_by: new URL(url).host,
});

/** `/v1/models`. A model is named by its name or either ID. */
export function modelRoutes({
  aliases,
  modelReferences,
  models,
  remoteModels,
  removeModel,
  untrained,
}: Services) {
  /** Aliases whose model is there. */
  const presentAliases = () =>
    aliases.list().flatMap((alias) => {
      try {
        if (modelReferences.remoteOf(alias.name) === null) modelReferences.resolve(alias.name);
      } catch {
        return [];
      }
      return [presentAlias(alias)];
    });
  /** Those of other services, if their file can be read. */
  const presentRemotes = () => {
    try {
      return remoteModels.list().map(presentRemote);
    } catch {
      return [];
    }
  };
  return [
    route({
      method: 'GET',
      path: '/v1/models',
      tag,
      access: 'inference',
      summary: 'List the models available for inference',
      responses: { 200: { description: 'The models', schema: s.models } },
      handle: () => ({
        object: 'list',
        data: [
          ...models
            .list()
            .filter((model) =>
              (['gguf', 'adapter'] as const).some((kind) => models.fileOf(model, kind) !== null),
            )
            .map(present),
          ...presentAliases(),
          ...presentRemotes(),
        ],
      }),
    }),
    route({
      method: 'GET',
      path,
      tag,
      access: 'inference',
      summary: 'Get a model, or a checkpoint or a base model by its name',
      responses: { 200: { description: 'The model', schema: s.model }, 404: noModel },
      handle: async ({ params }) => {
        const { model: id } = params;
        const remote = remoteModels.find(id);
        if (remote !== null) return presentRemote(remote);
        const isElsewhere = modelReferences.remoteOf(id) !== null;
        const model = isElsewhere ? null : modelReferences.resolve(id).model;
        if (model === null || aliases.targetsOf(id) !== null) return presentAlias(aliases.get(id));
        const checkpoint = await modelReferences.checkpointOf(id);
        if (checkpoint === null && !isBaseName(model)) return present(models.find(model));
        const at = checkpoint?.createdAt ?? (await untrained.find(model)).changedAt.toISOString();
        return { id, object: 'model', created: unixSeconds(at), owned_by: 'hone' };
      },
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      summary: 'Delete a model and its files',
      responses: {
        200: { description: 'The model was deleted', schema: deleted },
        400: { description: 'The model is in use', schema: s.error },
        404: noModel,
      },
      handle: async ({ params }) => {
        const { modelId } = models.findByName(params.model);
        const { name } = await removeModel(modelId);
        return { id: name, object: 'model', deleted: true as const };
      },
    }),
  ];
}
