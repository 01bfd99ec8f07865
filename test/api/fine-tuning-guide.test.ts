/**
 * Scripts for OpenAI's fine-tuning API, one for each of its official libraries: they run here with the base URL and the
 * model's name changed alone.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
} from '../service.ts';

let service: TestService;
const folder = temporaryFolder();
const files = ['train.jsonl', 'valid.jsonl'].map((name) => join(folder, name)) as [string, string];

/** Conversations in the format of OpenAI's guide. */
const conversations = (from: number, count: number) =>
  supportRows()
    .split('\n')
    .slice(from, from + count)
    .map((line) => JSON.parse(line) as { input: string; output: string })
    .map(({ input, output }) => [
      { role: 'system', content: 'You help the customers of a shop.' },
      { role: 'user', content: input },
      { role: 'assistant', content: output },
    ])
    .map((messages) => `${JSON.stringify({ messages })}\n`)
    .join('');

test.before(async () => {
  writeFileSync(files[0], conversations(0, 16));
  writeFileSync(files[1], conversations(16, 12));
  service = await startService({ warm: true });
});
test.after(endAll);

const scripts: Record<string, [program: string, script: string]> = {
  Python: [join(root, 'trainer', '.venv', 'bin', 'python'), 'guide.py'],
  Node: [process.execPath, 'guide.mjs'],
};

for (const [language, [program, script]] of Object.entries(scripts)) {
  test(`the ${language} script uploads, trains, follows the events and asks the model`, async () => {
    const path = join(root, 'test', 'api', 'fine-tuning-guide', script);
    const { stdout } = await promisify(execFile)(program, [path, ...files, tinyModel('qwen3', 'chatml')], {
      env: { ...process.env, OPENAI_BASE_URL: `${service.url}/v1`, OPENAI_API_KEY: 'unused' },
    });
    const name = 'ft:qwen3-chatml:hone:support:[0-9a-f]{8}';
    for (const line of [
      /^job ftjob-\d+$/m,
      /^event metrics Step 2\/2: training loss=\d/m,
      /^event metrics Step 2: validation loss=\d/m,
      /^event message The job has successfully completed$/m,
      /^tokens [1-9]\d*$/m,
      /^results step,train_loss,train_accuracy,valid_loss,valid_mean_token_accuracy$/m,
      new RegExp(`^checkpoint 2 ${name}:ckpt-step-2$`, 'm'),
      new RegExp(`^model ${name}$`, 'm'),
      /^answer assistant [1-8]$/m,
    ])
      assert.match(stdout, line);
  });
}

test.run();
