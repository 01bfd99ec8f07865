import { asTable, toMinutes } from '../../client/as-table.ts';
import { AppError } from '../../errors.ts';
import type { Command } from '../command.ts';
import { note, printJson, write } from '../output.ts';

interface RemoteModelView {
  readonly name: string;
  readonly url: string;
  readonly model: string;
  readonly has_key: boolean;
  readonly created_at: string;
}

const path = '/api/remote_models';
const head = ['NAME', 'URL', 'MODEL', 'KEY', 'ADDED'];
const row = ({ name, url, model, has_key: hasKey, created_at: at }: RemoteModelView) => [
  ...[name, url, model, hasKey ? 'yes' : 'no', toMinutes(at)],
];

/** The key in a variable of the environment: an argument would be seen by other users of the machine. */
function keyIn(variable: string | undefined): string | undefined {
  if (variable === undefined) return undefined;
  const key = process.env[variable]?.trim();
  if (key) return key;
  throw new AppError('invalid', `The environment has no variable ${variable}, or it is empty.`);
}

export const model: Command = {
  name: 'model',
  about:
    'Lets a name stand for a model of another service with OpenAI’s API: requests to /v1/chat/completions with that name are passed on there, and their answers can be kept. Also lists and removes such names.',
  operands: ['add|list|remove', '[NAME]'],
  examples: [
    'hone model add gpt --url https://api.openai.com/v1 --model gpt-4o-mini --key-env OPENAI_API_KEY',
    'hone model add llama --url http://localhost:11434/v1 --model llama3.2',
    'hone model list',
    'hone model remove gpt',
  ],
  given: ['name'],
  flags: {
    'key-env': {
      about: 'The variable of the environment that has the key of the service; it is sent there alone.',
      value: 'VARIABLE',
    },
  },
  async run({ operands: [action, name], fields, own, json, connect }) {
    const isListed = action === 'list' && name === undefined;
    const isNamed = (action === 'add' || action === 'remove') && name !== undefined;
    if (!isListed && !isNamed)
      throw new AppError(
        'invalid',
        'Use "hone model add NAME --url URL", "hone model list" or "hone model remove NAME".',
      );
    const key = action === 'add' ? keyIn(own['key-env']) : undefined;
    const { client } = await connect();
    if (isListed) {
      const answer = await client.get<{ remote_models: RemoteModelView[] }>(path);
      if (json) printJson(answer);
      else write(asTable([head, ...answer.remote_models.map(row)]));
    } else if (action === 'add') {
      const added = await client.post<RemoteModelView>(path, { ...fields, name, key });
      if (json) printJson(added);
      else note(`${added.name} is answered at ${added.url}.`);
    } else {
      const removed = await client.open(`${path}/${encodeURIComponent(name as string)}`, {
        method: 'DELETE',
      });
      const answer = (await removed.json()) as { readonly message: string };
      if (json) printJson(answer);
      else note(answer.message);
    }
    return 0;
  },
};
