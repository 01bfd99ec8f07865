import type { McpHttpHandler } from '@modelcontextprotocol/server';
import * as v from 'valibot';
import { errorReply } from '../../http/error-reply.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { InnerReply, InnerRequest } from '../../http/inner-call.ts';
import { Reply } from '../../http/reply.ts';
import { type Face, route } from '../../http/route.ts';
import { createMcpServer } from './server.ts';
import { toolsOf } from './tools.ts';

const headerNames = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

/**
 * `/mcp`: the Model Context Protocol over HTTP, without sessions. Each tool is a request of the API with the caller's own key.
 * @param openApi the description of the API.
 * @param ask answers a request as if the client of an exchange had sent it.
 */
export function createMcpFace(
  version: string,
  openApi: () => Readonly<Record<string, unknown>>,
  ask: (outer: Exchange, request: InnerRequest) => Promise<InnerReply>,
) {
  const exchanges = new WeakMap<Request, Exchange>();
  let handler: Promise<McpHttpHandler> | null = null;
  const open = async () => {
    const { createMcpHandler } = await import('@modelcontextprotocol/server');
    const tools = toolsOf(openApi());
    return createMcpHandler(({ requestInfo }) =>
      createMcpServer(version, tools, (request) =>
        ask(exchanges.get(requestInfo as Request) as Exchange, request),
      ),
    );
  };

  async function serve(exchange: Exchange, body: unknown): Promise<Reply | undefined> {
    handler ??= open();
    const headers = new Headers({
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    });
    for (const name of headerNames) {
      const value = exchange.header(name);
      if (value !== undefined) headers.set(name, value);
    }
    const { signal } = exchange;
    const request = new Request('http://localhost/mcp', { method: 'POST', headers, signal });
    exchanges.set(request, exchange);
    const response = await (await handler).fetch(request, { parsedBody: body });
    const type = response.headers.get('content-type') ?? 'application/json';
    if (!type.startsWith('text/event-stream') || response.body === null)
      return new Reply(response.status, await response.text(), { 'content-type': type });
    const writer = exchange.stream(response.status, { 'content-type': type });
    for await (const piece of response.body) if (!(await writer.write(piece as Uint8Array))) return undefined;
    writer.end();
    return undefined;
  }

  return {
    name: 'mcp',
    routes: [
      route({
        method: 'POST',
        path: '/mcp',
        tag: 'mcp',
        // Each tool is admitted by what it asks for.
        access: 'inference',
        summary: 'The Model Context Protocol',
        body: v.looseObject({ jsonrpc: v.literal('2.0') }),
        responses: { 200: { description: 'The answer', schema: v.unknown() } },
        handle: ({ body, exchange }) => serve(exchange, body),
      }),
    ],
    presentError: errorReply,
    error: v.unknown(),
  } satisfies Face;
}
