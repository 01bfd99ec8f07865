import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import * as assert from 'uvu/assert';
import { root } from '../folders.ts';

/*
 * The addon with AddressSanitizer and UndefinedBehaviorSanitizer (Linux). Node itself is not instrumented, so that the
 * sanitizer's library is preloaded into it.
 */

const build = join('build', 'native-asan');
const compiler = process.env.CXX ?? 'c++';

/** Builds the addon with sanitizers. @throws with the end of the compiler's output. */
export function buildSanitized(): void {
  const cmake = join(root, 'node_modules', 'cmake-js', 'bin', 'cmake-js');
  const built = spawnSync(process.execPath, [cmake, 'compile', '--out', build, '--CDHONE_SANITIZE=ON'], {
    cwd: root,
    encoding: 'utf8',
  });
  assert.is(built.status, 0, built.stdout.slice(-4000) + built.stderr.slice(-4000));
}

/** The compiler's AddressSanitizer library: GCC's or Clang's. */
function sanitizerLibrary(): string {
  for (const name of ['libasan.so', 'libclang_rt.asan-x86_64.so', 'libclang_rt.asan-aarch64.so']) {
    const file = execFileSync(compiler, [`-print-file-name=${name}`], { encoding: 'utf8' }).trim();
    if (isAbsolute(file)) return file;
  }
  throw new Error(`${compiler} has no AddressSanitizer library; install its package (libasan).`);
}

/** The compiler's C++ library, if it lies beside it. */
const standardLibrary = (): string => {
  const file = execFileSync(compiler, ['-print-file-name=libstdc++.so.6'], { encoding: 'utf8' }).trim();
  return isAbsolute(file) ? file : '';
};

/**
 * What a process needs to use that build. Its reports, and those of its children, are the files `logs/NAME.PID`.
 *
 * The C++ library is loaded at the start, too: the sanitizer looks for `__cxa_throw` only then, and Python has none of its
 * own, so that the first exception of a module (triton's at its import) would end the process.
 */
export const sanitizedEnvironment = (logs: string, name: string): NodeJS.ProcessEnv => ({
  HONE_NATIVE_BUILD: build,
  LD_PRELOAD: [sanitizerLibrary(), standardLibrary()].filter(Boolean).join(' '),
  ASAN_OPTIONS: `log_path=${join(logs, name)}:exitcode=99`,
  UBSAN_OPTIONS: `print_stacktrace=1:log_path=${join(logs, name)}`,
  LSAN_OPTIONS: 'exitcode=0', // leaks are judged by `expectClean`
});

/** @throws when a report is about an error, or about a leak of the addon. */
export function expectClean(logs: string, name: string): void {
  const reports = readdirSync(logs)
    .filter((log) => log.startsWith(`${name}.`))
    .map((log) => readFileSync(join(logs, log), 'utf8'));
  const errors = reports.filter((report) =>
    /ERROR: AddressSanitizer|AddressSanitizer: CHECK failed|runtime error:/.test(report),
  );
  assert.is(errors.join('\n'), '');
  assert.equal(reports.flatMap(leaksOfAddon), []);
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
