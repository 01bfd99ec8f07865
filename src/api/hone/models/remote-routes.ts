import type { RemoteModel } from '../../../domain/remote-models/remote-models.ts';
import type { Services } from '../../../domain/services.ts';
import { AppError } from '../../../errors.ts';
import { route } from '../../../http/route.ts';
import { confirmation, errorBody, refused, tag } from '../common.ts';
import * as s from './schemas.ts';

const path = '/api/remote_models';
const unreadable = { description: 'The file of these models cannot be read', schema: errorBody };

const present = ({ hasKey, createdAt, ...rest }: RemoteModel) => ({
  ...rest,
  has_key: hasKey,
  created_at: createdAt,
});

/** Models of other services, which `/v1/chat/completions` passes requests on to. Their keys are written, and never told. */
export function remoteModelRoutes({ remoteModels }: Services) {
  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: 'List the models of other services',
      responses: { 200: { description: 'The models', schema: s.remoteModels }, 409: unreadable },
      handle: () => ({ remote_models: remoteModels.list().map(present) }),
    }),
    route({
      method: 'POST',
      path,
      tag,
      summary:
        'Let a name stand for a model of another service with OpenAI’s API; its key is kept in the data directory, readable by its user alone',
      body: s.remoteModelBody,
      bodyExample: {
        name: 'gpt',
        url: 'https://api.openai.com/v1',
        model: 'gpt-4o-mini',
        key: 'sk-key',
      },
      responses: {
        200: { description: 'The model', schema: s.remoteModel },
        400: refused,
        403: { description: 'Clients on other machines may not name URLs', schema: errorBody },
        409: {
          description: 'The name is taken, there are too many, or their file cannot be read',
          schema: errorBody,
        },
      },
      handle({ body, exchange }) {
        if (!exchange.peer.isLocal)
          throw new AppError(
            'forbidden',
            'Clients on other machines may not add a model of another service. Run "hone model add" where the service runs.',
          );
        const { key, model, ...rest } = body;
        return present(remoteModels.add({ ...rest, model: model ?? undefined, key: key ?? undefined }));
      },
    }),
    route({
      method: 'DELETE',
      path: `${path}/{name}`,
      tag,
      summary: 'Remove a model of another service, with its key; answers that were kept stay',
      responses: {
        200: { description: 'The model was removed', schema: confirmation },
        404: { description: 'Model not found', schema: errorBody },
        409: unreadable,
      },
      handle({ params: { name } }) {
        remoteModels.remove(name);
        return { status: 'deleted', message: `The model ${name} was removed` };
      },
    }),
  ];
}
