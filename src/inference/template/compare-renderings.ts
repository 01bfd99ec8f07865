/**
 * A program for the check before a training: renders conversations as the playground does.
 *
 *     node dist/compare-renderings.js TEMPLATE.json
 *
 * Reads lines `{messages, tools, generation, text}` on stdin, where `text` is the trainer's rendering after the tokenizer's
 * normalizer, up to the start of an answer with `generation`. Writes one line: `{"compared": N}`, or at the first difference `{"different": INDEX, "text"}`
 * or `{"different": INDEX, "error"}`. On an error it writes `{code, message}` to stderr and exits with code 1.
 */
import { createInterface } from 'node:readline';
import type { Message, Tool } from './message.ts';
import { readTemplate } from './render.ts';

interface Rendering {
  messages: Message[];
  tools: Tool[];
  generation: boolean;
  text: string;
}

async function compare(path: string): Promise<object> {
  const template = await readTemplate(path);
  let compared = 0;
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    const { messages, tools, generation, text } = JSON.parse(line) as Rendering;
    try {
      const served = template.normalize(
        generation ? template.render(messages, undefined, tools) : template.renderAnswered(messages, tools),
      );
      if (served !== text) return { different: compared, text: served };
    } catch (error) {
      return { different: compared, error: error instanceof Error ? error.message : String(error) };
    }
    compared += 1;
  }
  return { compared };
}

compare(process.argv[2] ?? '').then(
  (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0)),
  (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${JSON.stringify({ code: 'render_failed', message })}\n`, () => process.exit(1));
  },
);
