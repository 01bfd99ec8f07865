import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { derivedExport } from '../../../src/contract/derived-export.ts';
import { openStore } from '../../../src/db/store.ts';
import { createCheckpoints } from '../../../src/domain/checkpoints/checkpoints.ts';
import { createSharedBases } from '../../../src/domain/checkpoints/shared-bases.ts';
import { createFrameLog } from '../../../src/domain/events/frame-log.ts';
import { createModels } from '../../../src/domain/models/models.ts';
import { root, temporaryFolder } from '../../folders.ts';
import { binOf } from '../bin/bin-of.ts';

/**
 * Two models of each base, each with the folder of its job.
 * @param program a shell script in place of the trainer, which runs in a job's folder
 * @param isNoted whether the models say what their bases are
 */
export function setUp(program: string, bases: readonly string[], isNoted = true) {
  const folder = temporaryFolder();
  const store = openStore(join(folder, 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const frames = createFrameLog(store, () => undefined);
  const models = createModels({ store, frames, bin: binOf(store, frames, folder), modelsDir: folder });
  const [jobsDir, basesDir] = [join(folder, 'jobs'), join(folder, 'bases')];
  const shared = createSharedBases({ store, basesDir, jobsDir, deleted: () => [] });
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
      if (isNoted) writeFileSync(join(path, 'base.json'), JSON.stringify(note));
      const model = models.insert({
        ...{ ...about, modelId, jobId, name: '', baseModel, path, sizeBytes: 1, config: {}, metrics: {} },
        ...{ verification: null, export: derivedExport([]), displayName: modelId, notes: '', tags: [] },
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
  /** The jobs in whose folders the program was started for the file of a base, and how often. */
  const startsOf = (file: string) =>
    trained
      .filter((one) => one.file === file && existsSync(join(one.job, 'starts')))
      .map(({ job }) => ({ job, count: readFileSync(join(job, 'starts'), 'utf8').split('\n').length - 1 }));
  const close = () => {
    checkpoints.close();
    store.close();
  };
  return { checkpoints, trained, startsOf, close };
}

export type Trained = ReturnType<typeof setUp>['trained'][number];
