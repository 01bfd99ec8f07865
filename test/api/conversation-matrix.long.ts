/** Every architecture trains on every shape of conversation and answers in a template that is published for it. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'uvu';
import { endAll, root, startService, type TestService, temporaryFolder } from '../service.ts';
import { shapes, trainAndAsk } from './conversation-shapes.ts';

/** The architectures, and whether they are trained with system messages. */
const kinds: Readonly<Record<string, boolean>> = {
  llama: true,
  qwen3: true,
  gemma3: true,
  gpt2: true,
  mistral: false,
  gemma2: false,
  phi3: true,
  'mistral-sp': true,
};

const models = temporaryFolder();
let service: TestService;
const show = (cells: readonly string[]) => console.log(`| ${cells.join(' | ')} |`);

test.before(async () => {
  execFileSync(join(root, 'trainer', '.venv', 'bin', 'python'), ['-m', 'trainer.tests.chat.models', models], {
    cwd: root,
    env: { ...process.env, PYTHONPATH: root, OMP_NUM_THREADS: '1' },
    stdio: 'ignore',
  });
  service = await startService({ warm: true });
  show(['model', ...shapes]);
});
test.after(endAll);

for (const [kind, hasSystem] of Object.entries(kinds)) {
  test(`${kind} trains on every shape and answers`, async () => {
    const cells: string[] = [];
    for (const shape of shapes) {
      const { right, asked, sequences } = await trainAndAsk(service, {
        ...{ path: join(models, kind), shape, hasSystem },
      });
      cells.push(`${right} of ${asked}${sequences === null ? '' : `, ${sequences} sequences`}`);
    }
    show([kind, ...cells]);
  });
}

test.run();
