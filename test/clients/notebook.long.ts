/** The notebook of `examples/`, executed to its end with the Python package installed as a user does it. */
import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { realModel } from '../real/real-model.ts';
import { endAll, type Json, root, startService, temporaryFolder } from '../service.ts';
import { pythonWith } from './install.ts';

const start = promisify(execFile);
const name = 'own-rows.ipynb';

test.after(endAll);

test('the notebook trains a real model on its rows, asks it and downloads it', async () => {
  const python = pythonWith('notebook', ['nbclient==0.10.2', 'ipykernel==7.1.0', 'nbconvert==7.16.6']);
  const installed = join(temporaryFolder(), 'python');
  execFileSync('cp', ['-r', join(root, 'python'), installed]);
  await start(python, ['-m', 'pip', 'install', '--quiet', installed]);
  const service = await startService({ warm: true });
  const folder = temporaryFolder();
  copyFileSync(join(root, 'examples', name), join(folder, name));
  const argv = ['-m', 'nbconvert', '--to', 'notebook', '--execute', '--inplace', name];
  await start(python, [...argv, '--ExecutePreprocessor.timeout=3000'], {
    cwd: folder,
    env: { ...process.env, HONE_URL: service.url, HONE_MODEL: await realModel('smollm2') },
  });
  const { cells } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Json;
  const outputs = cells.flatMap((cell: Json) => cell.outputs ?? []);
  assert.not.ok(outputs.some((output: Json) => output.output_type === 'error'));
  const html = outputs.map((output: Json) => String(output.data?.['text/html'] ?? '')).join('');
  assert.match(html, '<polyline', 'the loss is drawn');
  const text = outputs.map((output: Json) => String(output.text ?? '')).join('');
  assert.match(text, 'The box with the teapot is damaged. → Delivery');
  assert.ok(readdirSync(folder).some((file) => file.endsWith('.gguf')));
});

test.run();
