import type { KeyHolder } from '../../../domain/access/access-keys.ts';
import { sessionDays } from '../../../domain/access/sessions.ts';
import type { Services } from '../../../domain/services.ts';
import { credentialsOf, sessionCookie } from '../../../http/access/credentials.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { Reply } from '../../../http/reply.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { errorBody, tag } from '../common.ts';
import * as s from './schemas.ts';

const tooMany: ResponseDoc = {
  description: 'Too many wrong access keys came from this address',
  schema: errorBody,
};

/** Signing in to the page. */
export function sessionRoutes({ access, reachable, tls }: Services) {
  const presented = (exchange: Exchange) => credentialsOf((name) => exchange.header(name), access.cookieName);
  const present = ({ peer }: Exchange, holder: KeyHolder | null) => ({
    access: access.mode,
    reachable,
    key_needed: access.needsKey(peer),
    signed_in: holder !== null,
    key_name: holder?.name ?? null,
    scope: holder?.scope ?? null,
  });
  const cookie = (exchange: Exchange, token: string, days: number) => ({
    'set-cookie': sessionCookie(access.cookieName, token, days * 86_400, tls || exchange.peer.overTls),
  });
  return [
    route({
      method: 'GET',
      path: '/api/session',
      tag,
      access: 'free',
      summary: 'Whether this client needs an access key, and whose key it presents',
      responses: { 200: { description: 'The session', schema: s.accessSession }, 429: tooMany },
      handle: ({ exchange }) => present(exchange, access.holderOf(exchange.peer, presented(exchange))),
    }),
    route({
      method: 'POST',
      path: '/api/session',
      tag,
      access: 'free',
      summary: 'Sign in with an access key: sets the cookie of this instance',
      body: s.signInBody,
      bodyExample: { key: 'hone_1f2e3d4c_dGhlIHJlc3Qgb2YgYW4gYWNjZXNzIGtleSwgMzIgYg' },
      responses: {
        200: { description: 'The new session', schema: s.accessSession },
        401: { description: 'The access key is not valid', schema: errorBody },
        429: tooMany,
      },
      handle: ({ body, exchange }) => {
        const { token, holder } = access.signIn(exchange.peer, body.key);
        return Reply.json(200, present(exchange, holder), cookie(exchange, token, sessionDays));
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/session',
      tag,
      access: 'free',
      summary: 'Sign out: ends the session of the cookie',
      responses: { 200: { description: 'No session', schema: s.accessSession } },
      handle: ({ exchange }) => {
        const { session } = presented(exchange);
        if (session !== null) access.signOut(session);
        return Reply.json(200, present(exchange, null), cookie(exchange, '', 0));
      },
    }),
  ];
}
