// Preloaded into the tests of `npm run check`: one that starts a process after all fails.
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';

for (const name of ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync']) {
  const real = childProcess[name];
  childProcess[name] = (command, ...rest) => {
    // tsx compiles TypeScript with it.
    if (/^esbuild/.test(basename(String(command)))) return real(command, ...rest);
    throw new Error(`A unit test started ${command}; see test/unit-files.ts.`);
  };
}
syncBuiltinESMExports();
