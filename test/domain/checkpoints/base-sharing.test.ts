/** The file of a base that several models share is made in the background, with its progress, and can be given up. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../../src/db/store.ts';
import { createCheckpoints } from '../../../src/domain/checkpoints/checkpoints.ts';
import { createSharedBases } from '../../../src/domain/checkpoints/shared-bases.ts';
import { createFrameLog } from '../../../src/domain/events/frame-log.ts';
import { createModels } from '../../../src/domain/models/models.ts';
import { root, temporaryFolder } from '../../folders.ts';
import { until } from '../../service.ts';

/** Tells a progress, waits until somebody writes to `go` in the job's folder, and makes the file of the base. */
const program = `#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in --bases) bases=$2 ;; --named) named=$2 ;; esac
  shift
done
echo started >> starts
echo '{"progress": 0.25}'
read -r _ < go
mkdir -p "$bases" && : > "$bases/$named"
echo '{"adapter": null, "base": "it"}'
`;

/** Two models of each base, each with the folder of its job. */
function setUp(bases: readonly string[]) {
  const folder = temporaryFolder();
  const store = openStore(join(folder, 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const models = createModels({ store, frames: createFrameLog(store, () => undefined), modelsDir: folder });
  const [jobsDir, basesDir] = [join(folder, 'jobs'), join(folder, 'bases')];
  const shared = createSharedBases({ store, basesDir, jobsDir });
  const pythonPath = join(folder, 'program');
  writeFileSync(pythonPath, program);
  chmodSync(pythonPath, 0o755);
  const about = {
    ...{ task: 'text-generation', provider: 'standard', strategy: 'sft', datasetName: 'rows.jsonl' },
    createdAt: '2026-01-01T00:00:00.000Z',
  };
  const trained = bases.flatMap((baseModel) =>
    ['1', '2'].map((place) => {
      const modelId = `${baseModel}-${place}`;
      const jobId = store.jobs.insert({ ...about, modelId, state: 'completed', modelName: baseModel });
      const [path, job] = [join(folder, modelId), join(jobsDir, `train_${jobId}`)];
      for (const made of [path, job]) mkdirSync(made, { recursive: true });
      writeFileSync(join(job, 'spec.json'), '{}');
      execFileSync('mkfifo', [join(job, 'go')]);
      const note = { base: baseModel, file: `${baseModel}-F16.gguf` };
      writeFileSync(join(path, 'base.json'), JSON.stringify(note));
      const model = models.insert({
        ...{ ...about, modelId, jobId, name: '', baseModel, path, sizeBytes: 1, config: {}, metrics: {} },
        ...{ verification: null, displayName: modelId, notes: '', tags: [] },
        artifacts: [{ kind: 'template', path: 'template.json', bytes: 1, quantization: null }],
      });
      return { model, job, file: join(basesDir, note.file) };
    }),
  );
  const checkpoints = createCheckpoints({
    ...{ store, models, bases: shared, jobsDir },
    command: { pythonPath, environment: process.env, installDir: root },
    logger: { warn: (_, message) => assert.unreachable(message) },
  });
  const making = (progress: number | null) =>
    until(async () => checkpoints.preparation()?.progress === progress, `its progress is ${progress}`);
  /** The job in whose folder the file of a base is made. */
  const startsOf = (file: string) =>
    trained
      .filter((one) => one.file === file && existsSync(join(one.job, 'starts')))
      .map(({ job }) => ({ job, count: readFileSync(join(job, 'starts'), 'utf8').split('\n').length - 1 }));
  const close = () => {
    checkpoints.close();
    store.close();
  };
  return { checkpoints, trained, making, startsOf, close };
}

type Trained = ReturnType<typeof setUp>['trained'][number];

test('the file of a shared base is made once, and its progress is told', async () => {
  const { checkpoints, trained, making, startsOf, close } = setUp(['llama']);
  const [one, other] = trained as [Trained, Trained];
  assert.is(checkpoints.preparation(), null);
  for (const { model } of [one, other, one]) checkpoints.share(model);
  await making(0.25);
  assert.equal(checkpoints.preparation(), { kind: 'base', name: 'llama', progress: 0.25 });
  const [started] = startsOf(one.file);
  assert.is(started?.count, 1);
  await writeFile(join(started?.job ?? '', 'go'), '\n');
  await until(async () => checkpoints.preparation() === null, 'it is made');
  assert.ok(existsSync(one.file));
  close();
});

test('one that is given up is not begun again, and others are', async () => {
  const { checkpoints, trained, making, startsOf, close } = setUp(['llama', 'qwen']);
  const [llama, , qwen] = trained as [Trained, Trained, Trained];
  assert.is(await checkpoints.stopSharing(), false);
  checkpoints.share(llama.model);
  await making(0.25);
  assert.is(await checkpoints.stopSharing(), true);
  assert.is(checkpoints.preparation(), null);
  checkpoints.share(llama.model);
  checkpoints.share(qwen.model);
  await making(0.25);
  assert.is(checkpoints.preparation()?.name, 'qwen');
  assert.equal(
    startsOf(llama.file).map(({ count }) => count),
    [1],
  );
  // The job in whose folder it is made is deleted.
  await Promise.all(startsOf(qwen.file).map(({ job }) => checkpoints.release({ id: idOf(job) } as never)));
  assert.is(checkpoints.preparation(), null);
  checkpoints.share(qwen.model);
  await making(0.25);
  close();
});

const idOf = (job: string) => Number(job.split('_').at(-1));

test.run();
