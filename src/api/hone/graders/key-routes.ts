import type { Services } from '../../../domain/services.ts';
import { route } from '../../../http/route.ts';
import { errorBody, refused, tag } from '../common.ts';
import * as s from './schemas.ts';

const path = '/api/judge_keys';
const urls = { description: 'The URLs that have a key', schema: s.judgeKeys };
const unreadable = { description: 'The file of the keys cannot be read', schema: errorBody };

/** The keys of judges on other servers: they are written, and never told. */
export function judgeKeyRoutes({ judgeKeys }: Services) {
  const list = () => ({ urls: judgeKeys.urls() });
  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: 'List the URLs whose judges are asked with a key',
      responses: { 200: urls, 409: unreadable },
      handle: list,
    }),
    route({
      method: 'PUT',
      path,
      tag,
      summary:
        'Set the key of a URL, which goes to no other; it is kept in the data directory, readable by its user alone',
      body: s.judgeKey,
      bodyExample: { url: 'https://api.openai.com/v1', key: 'sk-key' },
      responses: { 200: urls, 400: refused, 409: unreadable },
      handle({ body: { url, key } }) {
        judgeKeys.put(url, key);
        return list();
      },
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      summary: 'Delete the key of a URL',
      query: s.judgeKeyQuery,
      responses: {
        200: urls,
        404: { description: 'The URL has no key', schema: errorBody },
        409: unreadable,
      },
      handle({ query }) {
        judgeKeys.remove(query.url);
        return list();
      },
    }),
  ];
}
