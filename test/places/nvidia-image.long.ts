/**
 * The image for NVIDIA GPUs, built as test/places/image.long.ts builds the one for processors. What needs no GPU is tried: the
 * demo on the processor, with PyTorch's build for CUDA, and that the accelerated provider is installed.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { lastLine } from '../demo/demo-process.ts';
import {
  build,
  buildah,
  canBuild,
  copyOfRepository,
  dataFolder,
  makeBase,
  open,
  removeContainers,
  runArgs,
} from './images.ts';

const image = 'localhost/hone-test-nvidia';

test.after(removeContainers);

if (!canBuild) {
  console.log('skipped: it needs root on Linux, buildah and debootstrap');
} else {
  test('the image is built with PyTorch for CUDA, the accelerated provider and the engines for NVIDIA', () => {
    makeBase();
    const { seconds } = build(copyOfRepository(), '--build-arg', 'NVIDIA=1', '--tag', image);
    const size = buildah('images', '--format', '{{.Size}}', image);
    console.log(`figure: image for NVIDIA: ${size}, built in ${seconds} s`);
    const container = open(image);
    const python = 'import torch, importlib.metadata as m; print(torch.version.cuda, m.version("unsloth"))';
    assert.match(
      buildah(...runArgs(container, `/app/trainer/.venv/bin/python -c '${python}'`)),
      /^\d+\.\d+ \d+/,
    );
    assert.match(buildah(...runArgs(container, 'ls /app/node_modules/@node-llama-cpp')), /cuda/);
  });

  test('without a GPU the demo ends well on the processor', () => {
    const container = open(image);
    const { mounted } = dataFolder();
    const said = buildah(
      ...runArgs(container, ...mounted, '--env', 'OMP_NUM_THREADS=1', 'tini -- hone demo --port 0'),
    );
    assert.match(said.split('\n').at(-1) as string, lastLine);
    const doctor = buildah(...runArgs(container, ...mounted, 'hone doctor'));
    assert.match(doctor, /ok +Machine/);
  });
}

test.run();
