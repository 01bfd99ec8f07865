import type { HubAccount } from '../../../domain/base-models/hub-account.ts';
import type { Services } from '../../../domain/services.ts';
import { asAppError } from '../../../errors.ts';
import { route } from '../../../http/route.ts';
import { errorBody, refused, tag } from '../common.ts';
import * as s from './schemas.ts';

/** The kinds of errors with which a model cannot be used; others are errors of the service. */
const verdicts: ReadonlySet<string> = new Set(['invalid', 'forbidden', 'upstream']);

/** What a verdict says of an error. @throws the error if it is none of the model or the hub. */
function problemOf(error: unknown) {
  const { kind, message } = asAppError(error);
  if (!verdicts.has(kind)) throw error;
  return { kind: kind as s.Problem['kind'], message };
}

async function describeAccount(account: HubAccount) {
  try {
    const { name, organizations } = await account.read();
    return { name, organizations: [...organizations], problem: null, token_from: account.source };
  } catch (error) {
    return { name: null, organizations: [], problem: problemOf(error), token_from: account.source };
  }
}

/** The models to train, and the account to push to; what the page asks before a start or a push. */
export function baseModelRoutes({ hubAccount, localModels, planner, selection, untrained }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/base_models',
      tag,
      access: 'train',
      summary:
        'List the base models on this machine: the starter model, folders of earlier runs, the hub cache, and GGUF files of LM Studio, Ollama and llama.cpp',
      responses: { 200: { description: 'The models', schema: s.localModels } },
      handle: async () => ({
        models: await Promise.all(
          (await localModels()).map(async ({ size, lastUsed, answersAs: answers_as, ...model }) => {
            const { bytes, fits } = await planner.memoryOf(model.model, size);
            const memory = bytes === null ? null : Math.round(bytes);
            const { parameters } = size;
            return { ...model, answers_as, parameters, memory_bytes: memory, fits, last_used: lastUsed };
          }),
        ),
      }),
    }),
    route({
      method: 'GET',
      path: '/api/base_models/answers',
      tag,
      summary: 'How a base model answers before anything is trained; the first time, its template is made',
      query: s.answersQuery,
      responses: {
        200: { description: 'Its template and engine', schema: s.answers },
        400: { description: 'It cannot answer', schema: errorBody },
        404: { description: 'It is not on this machine', schema: errorBody },
      },
      handle: async ({ query }) => {
        const { name, isGguf, templateOf } = await untrained.find(query.name);
        const { isOwn, contextTokens, toolsFault } = await templateOf();
        return {
          name,
          chat_template: isOwn,
          context_length: contextTokens,
          tools_fault: toolsFault,
          gguf: isGguf,
        };
      },
    }),
    route({
      method: 'POST',
      path: '/api/base_models/check',
      tag,
      summary: 'Check whether a base model can be used; the answer says why not',
      body: s.checkedModelBody,
      paths: { model: 'model' },
      bodyExample: { model: 'Qwen/Qwen3-0.6B' },
      responses: { 200: { description: 'The verdict', schema: s.checkedModel }, 400: refused },
      handle: async ({ body }) => {
        const adapter = await selection.adapterOf(body.model);
        try {
          const { hub: found, notes } = await selection.checkModel(body.model, body.merge_adapter ?? false);
          const hub = found && { downloads: found.downloads, likes: found.likes };
          return { usable: true, problem: null, hub, notes: [...notes], adapter };
        } catch (error) {
          return { usable: false, problem: problemOf(error), hub: null, notes: [], adapter };
        }
      },
    }),
    route({
      method: 'GET',
      path: '/api/hub/account',
      tag,
      summary: 'The account of the hub token, or why nothing can be pushed',
      responses: { 200: { description: 'The account', schema: s.hubAccount } },
      handle: () => describeAccount(hubAccount),
    }),
    route({
      method: 'PUT',
      path: '/api/hub/token',
      tag,
      summary:
        'Set the hub token, which the hub must accept; it is kept in the data directory, readable by its user alone',
      body: s.hubTokenBody,
      bodyExample: { token: 'hf_token' },
      responses: {
        200: { description: 'The account of the token', schema: s.hubAccount },
        400: refused,
        409: { description: 'The environment sets one', schema: errorBody },
        502: { description: 'The hub cannot be reached', schema: errorBody },
      },
      handle: async ({ body }) => {
        await hubAccount.setToken(body.token);
        return await describeAccount(hubAccount);
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/hub/token',
      tag,
      summary: 'Delete the hub token that was set',
      responses: {
        200: { description: 'No token', schema: s.hubAccount },
        409: { description: 'The environment sets one', schema: errorBody },
      },
      handle: async () => {
        hubAccount.removeToken();
        return await describeAccount(hubAccount);
      },
    }),
  ];
}
