import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

/*
 * Builds the addon with AddressSanitizer and UndefinedBehaviorSanitizer and runs its tests on that build.
 * Node itself is not instrumented, so that the sanitizer's library is preloaded into it.
 */

const root = resolve(import.meta.dirname, '..', '..');
const build = join('build', 'native-asan');
const compiler = process.env.CXX ?? 'c++';

/** The compiler's AddressSanitizer library: GCC's or Clang's. */
function sanitizerLibrary(): string {
  for (const name of ['libasan.so', 'libclang_rt.asan-x86_64.so', 'libclang_rt.asan-aarch64.so']) {
    const file = execFileSync(compiler, [`-print-file-name=${name}`], { encoding: 'utf8' }).trim();
    if (isAbsolute(file)) return file;
  }
  throw new Error(`${compiler} has no AddressSanitizer library; install its package (libasan).`);
}

/**
 * Leaks of the addon: its frame is near the allocation, and none of V8's own lies between. What V8
 * allocates while the addon registers a function belongs to V8, which frees it with the isolate or, when
 * a process or a worker ends first, not at all. What Node-API hands to the addon to release (references,
 * thread-safe functions) is allocated by `napi_*` and `v8impl::` and still counts.
 */
function leaksOfAddon(report: string): string[] {
  return report
    .split(/\n\n/)
    .filter((block) => /^(Direct|Indirect) leak/m.test(block))
    .filter((block) => {
      const frames = block.split('\n').slice(0, 10);
      const addon = frames.findIndex((frame) => /hone\.node|\/native\/\w[\w-]*\.(cpp|h)/.test(frame));
      return addon !== -1 && !frames.slice(0, addon).some((frame) => / in v8::/.test(frame));
    });
}

if (process.platform === 'linux') {
  const logs = mkdtempSync(join(tmpdir(), 'hone-asan-'));
  test.after(() => rmSync(logs, { recursive: true, force: true }));

  test('the addon builds with sanitizers', () => {
    const cmake = join(root, 'node_modules', 'cmake-js', 'bin', 'cmake-js');
    const built = spawnSync(process.execPath, [cmake, 'compile', '--out', build, '--CDHONE_SANITIZE=ON'], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.is(built.status, 0, built.stdout.slice(-4000) + built.stderr.slice(-4000));
  });

  const files = [
    ...['aligned-memory', 'gpu', 'gpu-faults', 'lifetime', 'quantize', 'rows'].map(
      (name) => `${name}.test.ts`,
    ),
    'fuzz.long.ts',
  ];
  for (const file of files) {
    const name = file.split('.', 1)[0] as string;
    test(`the tests of ${name} are clean under the sanitizers`, () => {
      const env = {
        ...process.env,
        HONE_NATIVE_BUILD: build,
        // A fixed seed: llama.cpp itself, which is not instrumented, may crash on other files.
        HONE_SEED: process.env.HONE_SEED ?? '7',
        HONE_COUNT: process.env.HONE_COUNT ?? '20000',
        LD_PRELOAD: sanitizerLibrary(),
        ASAN_OPTIONS: `log_path=${join(logs, name)}:exitcode=99`,
        UBSAN_OPTIONS: 'print_stacktrace=1',
        LSAN_OPTIONS: 'exitcode=0', // leaks are judged below
      };
      const ran = spawnSync(process.execPath, ['--import', 'tsx', join('test', 'native', file)], {
        cwd: root,
        encoding: 'utf8',
        env,
      });
      const reports = readdirSync(logs)
        .filter((log) => log.startsWith(`${name}.`))
        .map((log) => readFileSync(join(logs, log), 'utf8'));
      for (const [figure] of ran.stdout.matchAll(/figure: .+/g)) console.log(`${figure}, with sanitizers`);
      const errors = reports.filter((report) => /ERROR: AddressSanitizer|runtime error:/.test(report));
      assert.is(errors.join('\n'), '');
      assert.not.match(ran.stdout + ran.stderr, 'runtime error:');
      assert.is(ran.status, 0, ran.stdout + ran.stderr);
      assert.equal(reports.flatMap(leaksOfAddon), []);
    });
  }
}

test.run();
