// Preloaded into tests of the service with faults: writes the numbers of the faults that were reached.
import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  const reached = Object.keys(globalThis.__stryker__?.mutantCoverage?.static ?? {});
  writeFileSync(process.env.HONE_COVERED, JSON.stringify(reached));
});
