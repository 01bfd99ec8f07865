import { createInterface } from 'node:readline/promises';
import { text as readAll } from 'node:stream/consumers';
import type { Client } from '../../client/http-client.ts';
import { AppError } from '../../errors.ts';
import type { Command, Fields } from '../command.ts';
import { findModel } from '../find-model.ts';
import { printJson, write } from '../output.ts';

interface Message {
  readonly role: string;
  readonly content: string;
}
interface Piece {
  readonly choices?: readonly { readonly delta: { readonly content?: string | null } }[];
  readonly error?: { readonly message: string };
}

const path = '/v1/chat/completions';
const prompt = '> ';

/** The data of server-sent events, one after the other. */
async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const piece of body) {
    const events = (rest + decoder.decode(piece, { stream: true })).split('\n\n');
    rest = events.pop() as string;
    yield* events.filter((event) => event.startsWith('data: ')).map((event) => event.slice('data: '.length));
  }
}

/** Prints an answer while it is generated, and returns it. */
async function stream(client: Client, body: Fields, signal: AbortSignal): Promise<string> {
  const response = await client.open(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true }),
    signal,
  });
  let answer = '';
  for await (const event of eventsOf(response.body)) {
    if (event === '[DONE]') break;
    const { choices, error } = JSON.parse(event) as Piece;
    if (error !== undefined) throw new Error(error.message);
    const text = choices?.[0]?.delta.content ?? '';
    write(text);
    answer += text;
  }
  process.stdout.write('\n');
  return answer;
}

/** Asks for prompts until the end of the input; Ctrl+C ends an answer, or the chat. */
async function converse(client: Client, body: Fields, before: readonly Message[]): Promise<number> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr, prompt });
  const messages = [...before];
  let answering: AbortController | null = null;
  let isInterrupted = false;
  terminal.on('SIGINT', () => {
    if (answering !== null) return answering.abort();
    isInterrupted = true;
    terminal.close();
  });
  terminal.prompt();
  for await (const line of terminal) {
    if (line.trim() !== '') {
      messages.push({ role: 'user', content: line });
      answering = new AbortController();
      try {
        const content = await stream(client, { ...body, messages }, answering.signal);
        messages.push({ role: 'assistant', content });
      } catch (error) {
        if (!answering.signal.aborted) throw error;
        messages.pop();
        process.stdout.write('\n');
      }
      answering = null;
    }
    terminal.prompt();
  }
  process.stderr.write('\n');
  return isInterrupted ? 130 : 0;
}

export const chat: Command = {
  name: 'chat',
  about:
    'Asks a model: the prompt of the command line, or of the standard input, or on a terminal one after the other.',
  operands: ['MODEL', '[PROMPT]'],
  examples: [
    'hone chat support-1',
    'hone chat support-1 "My parcel has not come." --temperature 0',
    'hone chat support-1 --as-base < question.txt',
  ],
  flags: { system: { about: 'The system prompt.', value: 'TEXT' } },
  async run({ operands: [wanted, asked], fields, own, json, connect }) {
    const isConversation = asked === undefined && process.stdin.isTTY === true;
    if (isConversation && json) throw new AppError('invalid', 'With --json, a prompt is needed.');
    const { client } = await connect();
    const { model_id: model } = await findModel(client, wanted as string);
    const before = own.system === undefined ? [] : [{ role: 'system', content: own.system }];
    const body = { ...fields, model };
    if (isConversation) return converse(client, body, before);
    const content = asked ?? (await readAll(process.stdin)).trimEnd();
    if (content === '') throw new AppError('invalid', 'The prompt is empty.');
    const messages = [...before, { role: 'user', content }];
    if (json) printJson(await client.post(path, { ...body, messages }));
    else await stream(client, { ...body, messages }, new AbortController().signal);
    return 0;
  },
};
