import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** What transformers says for one conversation. */
interface Said {
  text: string;
  ids: number[];
  /** Tokens before the first choice that another engine may rightly make otherwise. */
  clear: number;
  ended: boolean;
}

export interface Fixture {
  directory: string;
  gguf: string;
  template: string;
  adapter: string;
  expected: {
    messages: { role: string; content: string }[];
    prompt: string;
    ids: number[];
    /** The last hidden state behind the prompt. */
    hidden: number[];
    tuned: Said;
    base: Said;
  }[];
  remove(): Promise<void>;
}

/** Makes a tiny tuned model by the trainer's own export; see trainer/tests/export_fixture.py. */
export async function makeFixture(kind: string, ...options: string[]): Promise<Fixture> {
  const directory = await mkdtemp(join(tmpdir(), 'hone-engine-'));
  const python = join(root, 'trainer', '.venv', 'bin', 'python');
  await run(python, ['-m', 'trainer.tests.export_fixture', kind, directory, ...options], {
    cwd: root,
    env: { ...process.env, OMP_NUM_THREADS: '1', PYTHONPATH: root },
  });
  return {
    directory,
    gguf: join(directory, 'model.gguf'),
    template: join(directory, 'template.json'),
    adapter: join(directory, 'adapter.gguf'),
    expected: JSON.parse(readFileSync(join(directory, 'expected.json'), 'utf8')),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
