/** An agent that uses the service over the Model Context Protocol, with the stock client. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';

const ownerKey = 'owner'.repeat(8);
let service: TestService;

test.before(async () => {
  service = await startService();
});
test.after(endAll);

async function connected(url = service.url, headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  );
  return client;
}

/** Of `hone mcp`, which asks the service of a data directory. */
const command = (dataDir: string) =>
  new StdioClientTransport({
    command: process.execPath,
    args: [join(root, 'dist', 'main.js'), 'mcp'],
    env: { PATH: process.env.PATH ?? '', HOME: dataDir, SERVICE_DATA_DIR: dataDir },
    stderr: 'ignore',
  });

/** Calls a tool that answers. */
async function use(client: Client, name: string, given: Json = {}): Promise<Json> {
  const { content, isError } = (await client.callTool({ name, arguments: given })) as Json;
  assert.not.ok(isError, content[0].text);
  return JSON.parse(content[0].text);
}

test('tools are described by the fields of the API', async () => {
  const client = await connected();
  const { tools } = await client.listTools();
  const start = tools.find(({ name }) => name === 'start_training') as Json;
  assert.ok(start.inputSchema.properties.learning_rate);
  assert.equal(start.annotations, { readOnlyHint: false, destructiveHint: false });
  assert.match(client.getInstructions() ?? '', 'start_training');
  assert.not.ok(tools.some(({ name }) => name.includes('delete')));
  await client.close();
});

test('an agent trains a model on rows of its own and asks it', async () => {
  const client = await connected();
  const rows = supportRows()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  await use(client, 'add_rows', { name: 'mine.jsonl', rows });
  assert.is((await use(client, 'read_dataset', { name: 'mine.jsonl', rows: 2 })).rows.length, 2);
  const request = quickRequest({ dataset: 'mine.jsonl' });
  assert.ok((await use(client, 'estimate_training', request)).memory);
  const { job_id: id } = await use(client, 'start_training', request);
  const messages: string[] = [];
  const ended = (await client.callTool(
    { name: 'wait_for_run', arguments: { job_id: id, seconds: 300 } },
    { onprogress: ({ message }) => messages.push(message ?? ''), timeout: 320_000 },
  )) as Json;
  const run = JSON.parse(ended.content[0].text);
  assert.is(run.state, 'completed', JSON.stringify(run.error));
  assert.ok(messages.length > 0);
  const { models } = await use(client, 'list_models');
  const answer = await use(client, 'ask_model', {
    model: models[0].model_id,
    messages: [{ role: 'user', content: rows[0].input }],
    max_tokens: 8,
  });
  assert.type(answer.choices[0].message.content, 'string');
  // Two evaluations with a grader of the user's, compared.
  await service.call('POST', '/api/graders', {
    ...{ type: 'string_check', name: 'right', operation: 'eq' },
    ...{ input: '{{sample.output_text}}', reference: '{{item.output}}' },
  });
  assert.equal(
    (await use(client, 'list_graders')).graders.map(({ name }: Json) => name),
    ['right'],
  );
  for (const as_base of [false, true]) {
    const evaluated = { dataset: 'mine.jsonl', graders: ['right'], rows: 4, model: models[0].name, as_base };
    await use(client, 'evaluate_model', evaluated);
  }
  const compared = async () => (await use(client, 'compare_evaluations')).evaluations as Json[];
  await until(async () => (await compared()).every(({ state }) => state === 'completed'), 'both are scored');
  const [one, other] = await compared();
  assert.is(one?.rows_digest, other?.rows_digest);
  assert.type(one?.figures['grader:right'], 'number');
  await client.close();
});

test('what the service refuses is told by the tool', async () => {
  const client = await connected();
  const refused = async (name: string, given: Json) => {
    const { content, isError } = (await client.callTool({ name, arguments: given })) as Json;
    assert.is(isError, true, name);
    return content[0].text as string;
  };
  assert.match(await refused('get_run', { job_id: 'train_999' }), /no job/i);
  assert.match(await refused('get_run', {}), '"job_id" is missing');
  assert.match(await refused('start_training', quickRequest({ dataset: 'none.jsonl' })), /none\.jsonl/);
  assert.match(await refused('start_training', quickRequest({ learning_rat: 1 })), /learning_rat/);
  // It would delete the run.
  assert.match(await refused('stop_run', { job_id: 'train_1', discard: true }), 'no field "discard"');
  assert.match(await refused('list_runs', { stat: 'running' }), 'no field "stat"');
  assert.match(await refused('wait_for_run', { job_id: 'train_1', seconds: -1 }), '"seconds"');
  assert.match(await refused('read_file', { path: '/etc/passwd' }), 'no tool');
  await client.close();
});

test('what is no message of the protocol is refused, and there are no sessions', async () => {
  const post = (body: unknown) => service.call('POST', '/mcp', body);
  assert.is((await post('{')).status, 400);
  assert.is((await post([])).status, 400);
  assert.is((await post({ method: 'tools/list' })).status, 400);
  assert.is((await service.call('GET', '/mcp')).status, 405);
  assert.is((await service.call('DELETE', '/mcp')).status, 405);
  const { body } = await post({ jsonrpc: '2.0', id: 1, method: 'nothing/at-all', params: {} });
  assert.match(JSON.stringify(body), '-32601');
});

test('a tool may do what its key may', async () => {
  const locked = await startService({ args: ['--access', 'key'], env: { HONE_ACCESS_KEY: ownerKey } });
  await connected(locked.url).then(
    () => assert.unreachable('it needs a key'),
    (error) => assert.match(String(error), /key|401|Unauthorized/i),
  );
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const made = await fetch(`${locked.url}/api/keys`, {
    method: 'POST',
    headers: { ...bearer(ownerKey), 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'agent', scope: 'inference' }),
  });
  const { key } = (await made.json()) as Json;
  const agent = await connected(locked.url, bearer(key));
  const { content, isError } = (await agent.callTool({ name: 'list_runs', arguments: {} })) as Json;
  assert.ok(isError);
  assert.match(content[0].text, 'models, answers and embeddings');
  const owner = await connected(locked.url, bearer(ownerKey));
  assert.equal((await use(owner, 'list_runs')).jobs, []);
  await Promise.all([agent.close(), owner.close()]);
});

test('the command serves the same tools on standard input and output', async () => {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(command(service.dataDir));
  assert.equal(
    (await client.listTools()).tools.map(({ name }) => name),
    (await (await connected()).listTools()).tools.map(({ name }) => name),
  );
  assert.ok((await use(client, 'list_datasets')).datasets.length > 0);
  await client.close();
  // Where no service runs, it starts one, which ends with it.
  const dataDir = temporaryFolder();
  const alone = new Client({ name: 'test', version: '1.0.0' });
  await alone.connect(command(dataDir), { timeout: 120_000 });
  assert.equal((await use(alone, 'list_runs')).jobs, []);
  const { url } = JSON.parse(readFileSync(join(dataDir, 'service.json'), 'utf8'));
  await alone.close();
  await until(
    () =>
      fetch(url).then(
        () => false,
        () => true,
      ),
    'the service that it started has ended',
  );
});

test.run();
