import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from './client.ts';

/** A real service with OpenAI's API that answers questions about passages, at the fixed choice of its `model`. */
export interface TeacherService {
  /** Ends in `/v1`. */
  readonly url: string;
  /** The passages that were asked about, in their order, with the model that was asked. */
  readonly asked: { readonly model: string; readonly passage: string; readonly body: Json }[];
  /** The passages whose answers were sent in full. */
  readonly answered: string[];
  /** While it is set, no answer is sent. */
  isHeld: boolean;
  /** How many answers the model `leaves` gives before it is gone. */
  answersLeft: number;
  /** Sends what is held. */
  release(): void;
  close(): void;
}

type Rows = readonly Readonly<Record<string, unknown>>[];

const sentencesOf = (passage: string) =>
  passage
    .split(/(?<=[.!?])\s+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence.length > 15);

const questionOf = (sentence: string) =>
  `Is it right that ${sentence.replace(/\s+/g, ' ').replace(/[.!?]$/, '')}?`;

/** What each model says about a passage: rows, or a text of its own. */
const models: Readonly<Record<string, (passage: string) => Rows | string>> = {
  good: (passage) =>
    sentencesOf(passage).map((sentence) => ({
      ...{ question: questionOf(sentence), answer: `Yes: ${sentence}` },
      // White space is not what a quotation is known by.
      quotation: sentence.replace(/\s+/g, ' '),
    })),
  /** One quotation of each answer is invented, and one question is asked twice. */
  mixed: (passage) => {
    const [first = passage, second = passage] = sentencesOf(passage);
    const asked = { question: questionOf(first), answer: `Yes: ${first}`, quotation: first };
    return [
      { ...asked, quotation: `${first.slice(0, -1)} in general.` },
      asked,
      { ...asked, question: `${asked.question} ` },
      { question: questionOf(second), answer: `Yes: ${second}`, quotation: 'is' },
    ];
  },
  nonsense: () => 'I like turtles.',
  'other-shape': () => [{ q: 'What?' }],
  invents: (passage) =>
    sentencesOf(passage).map((sentence) => ({
      question: questionOf(sentence),
      answer: 'No.',
      quotation: 'Never said at all.',
    })),
  summaries: (passage) => [{ summary: `In short: ${passage.slice(0, 30)}`, quotation: passage.slice(0, 40) }],
  labels: (passage) => [
    { label: passage.includes('Zebra') ? 'animals' : 'money', quotation: passage.slice(0, 40) },
  ],
  fields: (passage) => [
    { values: { subject: passage.split(' ')[0], place: null, more: 'x' }, quotation: passage.slice(0, 40) },
  ],
};

const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
const json = (response: ServerResponse, status: number, body: unknown) =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const completion = (message: object, finish_reason = 'stop') => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1_700_000_000, model: 'teacher', usage },
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
});

/** How a model answers that does more than say rows. */
function answer(model: string, passage: string, body: Json, times: number): [status: number, body: unknown] {
  const say = models[model];
  if (model === 'refuses') return [200, completion({ content: null, refusal: 'I would rather not.' })];
  if (model === 'cut-off') return [200, completion({ content: '{"rows": [{"question": "Wh' }, 'length')];
  if (model === 'no-schemas')
    return [400, { error: { message: 'response_format json_schema is not supported.' } }];
  if (model === 'gone') return [503, { error: { message: 'Overloaded.' } }];
  if (model === 'slow-down' && times === 1)
    return [429, { error: { message: 'Slow down.', code: 'rate_limit_exceeded' } }];
  if (model === 'variants') {
    const [, input = ''] = /The request:\n([\s\S]*?)\n\nThe answer:\n/.exec(body.messages[0].content) ?? [];
    return [
      200,
      completion({
        content: JSON.stringify({ input: `Tell me this. ${input}`, output: 'Nobody knows that, I fear.' }),
      }),
    ];
  }
  const said = (say ?? (models.good as (passage: string) => Rows))(passage);
  return [200, completion({ content: typeof said === 'string' ? said : JSON.stringify({ rows: said }) })];
}

export async function startTeacher(): Promise<TeacherService> {
  const asked: TeacherService['asked'] = [];
  const answered: string[] = [];
  let held: (() => void)[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => {
      text += piece;
    });
    request.on('end', () => {
      const body = JSON.parse(text);
      const { model } = body;
      const prompt: string = body.messages[0].content;
      const passage = prompt.split('\n\nThe passage:\n').at(-1) as string;
      asked.push({ model, passage, body });
      const times = asked.filter((one) => one.passage === passage && one.model === model).length;
      const send = () => {
        if (model === 'leaves' && service.answersLeft-- <= 0) return void request.socket.destroy();
        const [status, said] = answer(model, passage, body, times);
        response.once('finish', () => answered.push(passage));
        json(response, status, said);
      };
      if (service.isHeld) held.push(send);
      else send();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const service: TeacherService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    answered,
    isHeld: false,
    answersLeft: 0,
    release() {
      service.isHeld = false;
      for (const send of held) send();
      held = [];
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return service;
}
