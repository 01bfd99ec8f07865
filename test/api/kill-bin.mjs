/**
 * Loaded before the service's program: the process kills itself when a path of the bin is renamed or removed, as
 * HONE_TEST_KILL says: `rename-before`, `rename-after`, `remove-before` or `remove-after`.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { sep } from 'node:path';

const at = process.env.HONE_TEST_KILL;
const isOfBin = (path) => String(path).includes(`${sep}bin${sep}`);
const kill = (moment, ...paths) => {
  if (moment === at && paths.some(isOfBin)) process.kill(process.pid, 'SIGKILL');
};

const { renameSync } = fs;
fs.renameSync = (from, to) => {
  kill('rename-before', from, to);
  renameSync(from, to);
  kill('rename-after', from, to);
};
const { rm } = fs.promises;
fs.promises.rm = async (path, options) => {
  kill('remove-before', path);
  await rm(path, options);
  kill('remove-after', path);
};
syncBuiltinESMExports();
