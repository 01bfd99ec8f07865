/** One need of disk: what the estimate shows, what the trainer holds against the free disk, and what is written. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { model } from '../models.ts';
import { endAll, type Json, quickRequest, root, startService, supportRows, untilEnded } from '../service.ts';

test.after(endAll);

/** What the trainer makes of a specification, with the weights that it counts in the model's files and its adapter. */
const program = `
import json, sys
from pathlib import Path
from safetensors import safe_open
from trainer.training.disk_budget import need, stored_weights
from trainer.protocol.contracts import read_spec
spec = read_spec(sys.argv[1])
with safe_open(Path(sys.argv[2]) / "adapter" / "adapter_model.safetensors", "np") as file:
    trained = sum(file.get_tensor(name).size for name in file.keys())
print(json.dumps(need(spec.disk, stored_weights(Path(spec.model.path)), trained)))
`;

const bytesUnder = (folder: string, isCounted: (name: string) => boolean): number =>
  (readdirSync(folder, { recursive: true }) as string[])
    .filter((name) => isCounted(name) && statSync(join(folder, name)).isFile())
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

test('estimate, trainer and disk agree', async () => {
  const python = join(root, 'trainer', '.venv', 'bin', 'python');
  const env = { ...process.env, PYTHONPATH: root, OMP_NUM_THREADS: '1' };
  const service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
  const types = ['Q8_0', 'Q4_K_M', 'Q2_K'];
  const request = quickRequest({
    // Large enough for the blocks of every type, and for weights to be most of the files.
    model_name: model('small'),
    max_steps: -1,
    num_train_epochs: 0.05,
    eval_split: 0.01,
    eval_steps: 5,
    keep_best: true,
    save_steps: 5,
    save_total_limit: 7,
    optim: 'adafactor',
    export: { quantizations: types },
  });
  const { disk, steps } = (await service.call('POST', '/api/estimate', request)).body;
  assert.equal(steps, { total: 10, at_least: false, held_out_rows: 4 });
  const { body } = await service.call('POST', '/api/start_training', request);
  const ended = await untilEnded(service);
  assert.is(ended.status, 'completed', JSON.stringify(ended));
  const folder = join(service.dataDir, 'jobs', body.job_id);
  const [made] = (await service.call('GET', '/api/models/')).body;
  const told = JSON.parse(
    execFileSync(python, ['-c', program, join(folder, 'spec.json'), made.path], {
      cwd: root,
      env,
    }).toString(),
  );
  assert.equal(told, { checkpoints: disk.checkpoints_bytes, export: disk.export_bytes });
  const spec = JSON.parse(readFileSync(join(folder, 'spec.json'), 'utf8'));
  assert.is(spec.disk.spare_bytes, disk.spare_bytes);

  const job: Json = (await service.call('GET', `/api/jobs/${body.job_id}`)).body;
  const last = JSON.parse(
    readFileSync(join(folder, 'journal.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .filter((line) => JSON.parse(line).type === 'metric')
      .at(-1) as string,
  );
  assert.equal([last.total_steps, last.step], [10, 10], 'the steps that the estimate told');
  const exported = job.artifacts.reduce((sum: number, one: Json) => sum + one.bytes, 0);
  assert.ok(exported < disk.export_bytes + disk.spare_bytes, `${exported} of ${disk.export_bytes}`);
  const written = bytesUnder(join(folder, 'checkpoints'), () => true);
  assert.ok(
    written > 0 && written < disk.checkpoints_bytes + disk.spare_bytes,
    `${written} of ${disk.checkpoints_bytes}`,
  );
  console.log(
    `    checkpoints ${written} of ${disk.checkpoints_bytes}, export ${exported} of ${disk.export_bytes}`,
  );
});

test.run();
