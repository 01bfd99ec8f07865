import { setTimeout as sleep } from 'node:timers/promises';
import type { Server, ServerContext } from '@modelcontextprotocol/server';
import { type JobState, unfinishedStates } from '../../contract/jobs.ts';
import type { InnerReply, InnerRequest } from '../../http/inner-call.ts';
import type { Tool } from './tools.ts';

/** Asks the service with the rights of whoever calls a tool. */
export type Ask = (request: InnerRequest) => Promise<InnerReply>;

interface Result {
  [key: string]: unknown;
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly isError?: true;
}

const instructions = `Hone fine-tunes language models on this machine. The usual way: list_datasets or add_rows, \
analyse_dataset, recommend_models, estimate_training, start_training, wait_for_run until the run has ended, get_run for \
its verdict, ask_model. Runs are named train_1, train_2 and so on. The page of the service shows the same.`;

/** How often a run is looked at, and how long a call waits at most: clients give up after a minute by default. */
const lookMs = 1_000;
const longestSeconds = 600;
const usualSeconds = 45;

const waitForRun = {
  name: 'wait_for_run',
  title: 'Wait for a run',
  description:
    'Wait until a run has ended, or for some seconds, and get it as get_run does. Call it again while its state is one of those in which it goes on. With a progress token it tells how far the run is.',
  inputSchema: {
    type: 'object' as const,
    properties: {
      job_id: { type: 'string', minLength: 1 },
      seconds: { type: 'integer', minimum: 1, maximum: longestSeconds, default: usualSeconds },
    },
    required: ['job_id'],
  },
  annotations: { readOnlyHint: true },
};

/** A server of the Model Context Protocol for one client. @param ask has that client's rights. */
export async function createMcpServer(version: string, tools: readonly Tool[], ask: Ask): Promise<Server> {
  // Read when it is first needed: it takes longer than the rest of the service.
  const { Server } = await import('@modelcontextprotocol/server');
  const server = new Server(
    { name: 'hone', title: 'Hone', version },
    { capabilities: { tools: {} }, instructions },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: [...tools.map(({ request: _, ...tool }) => tool), waitForRun],
  }));
  server.setRequestHandler('tools/call', async ({ params }, context): Promise<Result> => {
    const { name, arguments: given = {} } = params;
    if (name === waitForRun.name) return wait(ask, given, context);
    const tool = tools.find((one) => one.name === name);
    if (tool === undefined) return failed(`There is no tool "${name}".`);
    try {
      return resultOf(await ask(tool.request(given)));
    } catch (error) {
      return failed((error as Error).message);
    }
  });
  return server;
}

const failed = (text: string): Result => ({ content: [{ type: 'text', text }], isError: true });

const resultOf = ({ status, body }: InnerReply): Result =>
  status < 400 ? { content: [{ type: 'text', text: body }] } : failed(body);

interface Run {
  readonly state: JobState;
  /** In percent. */
  readonly progress: number;
  readonly message: string;
}

async function wait(ask: Ask, given: Record<string, unknown>, context: ServerContext): Promise<Result> {
  const { job_id: id, seconds = usualSeconds } = given;
  if (typeof id !== 'string' || id === '') return failed('"job_id" is missing.');
  if (typeof seconds !== 'number' || !(seconds >= 1 && seconds <= longestSeconds))
    return failed(`"seconds" must be from 1 to ${longestSeconds}.`);
  const progressToken = context.mcpReq._meta?.progressToken;
  let told = '';
  const end = performance.now() + seconds * 1_000;
  for (;;) {
    const reply = await ask({
      method: 'GET',
      path: `/api/jobs/${encodeURIComponent(id)}`,
      query: '',
      body: null,
    });
    if (reply.status >= 400) return failed(reply.body);
    const run = JSON.parse(reply.body) as Run;
    const left = end - performance.now();
    if (left <= 0 || !unfinishedStates.includes(run.state)) return resultOf(reply);
    const { progress, message } = run;
    if (progressToken !== undefined && message !== told) {
      told = message;
      const params = { progressToken, progress, total: 100, message };
      await context.mcpReq.notify({ method: 'notifications/progress', params });
    }
    await sleep(Math.min(lookMs, left), undefined, { signal: context.mcpReq.signal });
  }
}
