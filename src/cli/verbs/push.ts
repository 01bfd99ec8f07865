import type { Command } from '../command.ts';
import { findModel } from '../find-model.ts';
import { note, print, printJson } from '../output.ts';

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
    const answer = await client.post<{ message: string; repo_url: string }>('/api/hub/push', body);
    if (json) printJson(answer);
    else {
      note(answer.message);
      print(answer.repo_url);
    }
    return 0;
  },
};
