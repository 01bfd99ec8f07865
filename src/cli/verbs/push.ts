import { setTimeout as sleep } from 'node:timers/promises';
import { startBar } from '../../client/bar.ts';
import type { Client } from '../../client/http-client.ts';
import type { Command } from '../command.ts';
import { findModel } from '../find-model.ts';
import { note, print, printJson } from '../output.ts';

interface PushView {
  readonly underway: { readonly state: string; readonly fraction: number } | null;
}

const pollMs = 500;

/** Shows how far the push of a model is, until it ends. */
async function withProgress<T>(client: Client, modelId: string, pushed: Promise<T>): Promise<T> {
  const bar = startBar('Push', process.stderr);
  const ended = pushed.then(
    () => 'done',
    () => 'failed',
  );
  for (;;) {
    const how = await Promise.race([ended, sleep(pollMs, null)]);
    if (how !== null) {
      bar.end(how);
      return pushed;
    }
    const { underway } = await client
      .get<PushView>(`/api/models/${modelId}/push`)
      .catch((): PushView => ({ underway: null }));
    if (underway !== null) bar.update(underway.fraction, underway.state);
  }
}

export const push: Command = {
  name: 'push',
  about: 'Pushes a model to a repository of the hub; unchanged files are not sent again.',
  operands: ['MODEL', 'REPOSITORY'],
  examples: ['hone push support-1 owner/support', 'hone push support-1 owner/support --no-private'],
  flags: {},
  async run({ operands: [wanted, repository], fields, json, connect }) {
    const { client } = await connect();
    const { model_id } = await findModel(client, wanted as string);
    const body = { ...fields, model_id, repo_name: repository };
    const pushed = client.post<{ message: string; repo_url: string }>('/api/hub/push', body);
    const answer = await withProgress(client, model_id, pushed);
    if (json) printJson(answer);
    else {
      note(answer.message);
      print(answer.repo_url);
    }
    return 0;
  },
};
