import { type Ask, createMcpServer } from './server.ts';
import { toolsOf } from './tools.ts';

/** Serves one client over standard input and output until it closes them. @param openApi the description of the API. */
export async function serveMcp(
  version: string,
  openApi: Readonly<Record<string, unknown>>,
  ask: Ask,
): Promise<void> {
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  const tools = toolsOf(openApi);
  serveStdio(() => createMcpServer(version, tools, ask));
}
