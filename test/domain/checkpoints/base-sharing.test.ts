/** The file of a base that several models share is made in the background, with its progress, and can be given up. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { until } from '../../service.ts';
import { setUp, type Trained } from './set-up.ts';

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

type Checkpoints = ReturnType<typeof setUp>['checkpoints'];
const making = (checkpoints: Checkpoints, progress: number) =>
  until(async () => checkpoints.preparation()?.progress === progress, `its progress is ${progress}`);

test('the file of a shared base is made once, and its progress is told', async () => {
  const { checkpoints, trained, startsOf, close } = setUp(program, ['llama']);
  const [one, other] = trained as [Trained, Trained];
  assert.is(checkpoints.preparation(), null);
  for (const { model } of [one, other, one]) checkpoints.share(model);
  await making(checkpoints, 0.25);
  assert.equal(checkpoints.preparation(), { kind: 'base', name: 'llama', progress: 0.25 });
  const [started] = startsOf(one.file);
  assert.is(started?.count, 1);
  await writeFile(join(started?.job ?? '', 'go'), '\n');
  await until(async () => checkpoints.preparation() === null, 'it is made');
  assert.ok(existsSync(one.file));
  close();
});

test('one that is given up is not begun again, and others are', async () => {
  const { checkpoints, trained, startsOf, close } = setUp(program, ['llama', 'qwen']);
  const [llama, , qwen] = trained as [Trained, Trained, Trained];
  assert.is(await checkpoints.stopSharing(), false);
  checkpoints.share(llama.model);
  await making(checkpoints, 0.25);
  assert.is(await checkpoints.stopSharing(), true);
  assert.is(checkpoints.preparation(), null);
  checkpoints.share(llama.model);
  checkpoints.share(qwen.model);
  await making(checkpoints, 0.25);
  assert.is(checkpoints.preparation()?.name, 'qwen');
  assert.equal(
    startsOf(llama.file).map(({ count }) => count),
    [1],
  );
  // The job in whose folder it is made is deleted.
  await Promise.all(startsOf(qwen.file).map(({ job }) => checkpoints.release({ id: idOf(job) } as never)));
  assert.is(checkpoints.preparation(), null);
  checkpoints.share(qwen.model);
  await making(checkpoints, 0.25);
  close();
});

const idOf = (job: string) => Number(job.split('_').at(-1));

test.run();
