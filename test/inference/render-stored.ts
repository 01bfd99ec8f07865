/** Renders prompts as the playground does: reads `[{template, messages}]` from stdin, writes the texts to stdout. */
import { readTemplate } from '../../src/inference/template/render.ts';

const chunks: Buffer[] = [];
for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
const asked = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
  template: string;
  messages: { role: string; content: string }[];
}[];
const texts = asked.map(async ({ template, messages }) => {
  const stored = await readTemplate(template);
  return stored.normalize(stored.render(messages));
});
process.stdout.write(JSON.stringify(await Promise.all(texts)));
