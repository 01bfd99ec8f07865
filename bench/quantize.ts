import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { quantize } from '../src/hardware/quantize.ts';
import { writeTinyGguf } from '../test/native/tiny-gguf.ts';
import type { Figure } from './hardware.ts';

/*
 * How fast a GGUF is quantized:  npm run bench -- quantize [--quick]
 *
 * The rival is gguf-py, the Python package that llama.cpp's converter writes Q8_0 with, on the same tensors,
 * already in memory; both write a file and sync it, one thread each. The other types have no rival in Python and are given alone.
 */

const root = resolve(import.meta.dirname, '..');

const rivalScript = `
import os, sys, time
sys.path.insert(0, sys.argv[2])
from gguf import GGUFReader, GGMLQuantizationType
from gguf.quants import quantize
tensors = [t.data.copy() for t in GGUFReader(sys.argv[1]).tensors if t.data.ndim == 2]
start = time.perf_counter()
with open(sys.argv[3], "wb") as out:
    for tensor in tensors:
        quantize(tensor, GGMLQuantizationType.Q8_0).tofile(out)
    out.flush()
    os.fsync(out.fileno())
print(time.perf_counter() - start)
`;

export async function run({ quick = false } = {}): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'hone-bench-'));
  try {
    const model = join(folder, 'model.gguf');
    const width = quick ? 512 : 1024;
    writeTinyGguf(model, { width, feedForward: 4 * width, layers: quick ? 2 : 4 });
    const megabytes = statSync(model).size / 1e6;
    const figures: Figure[] = [];
    await quantize(model, join(folder, 'out.gguf'), 'Q4_0', { threads: 1 }); // opens the engine, warms the file
    for (const type of ['Q8_0', 'Q4_0', 'Q4_K_M', 'IQ4_XS']) {
      const started = performance.now();
      await quantize(model, join(folder, 'out.gguf'), type, { threads: 1 });
      const ours = megabytes / ((performance.now() - started) / 1000);
      let rival: number | null = null;
      if (type === 'Q8_0') {
        const python = join(
          root,
          'trainer/.venv',
          process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python',
        );
        const argv = ['-c', rivalScript, model, join(root, 'build/llama.cpp/gguf-py'), join(folder, 'rival')];
        const seconds = execFileSync(python, argv, {
          encoding: 'utf8',
          env: { ...process.env, OMP_NUM_THREADS: '1' },
        });
        rival = megabytes / Number(seconds);
      }
      figures.push({
        name: type,
        unit: 'MB of 32-bit floats a second',
        ours,
        rival,
        rivalName: 'gguf-py',
        ratio: rival === null ? null : ours / rival,
      });
    }
    return figures;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
