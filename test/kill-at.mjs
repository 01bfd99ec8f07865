/**
 * Loaded before the service's program: the process kills itself when a path in a folder is renamed or removed, as
 * HONE_TEST_KILL says: `rename-before`, `rename-after`, `remove-before` or `remove-after`, and the name of the folder.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { sep } from 'node:path';

const [at, folder] = process.env.HONE_TEST_KILL.split(' ');
const isThere = (path) => String(path).includes(`${sep}${folder}${sep}`);
const kill = (moment, ...paths) => {
  if (moment === at && paths.some(isThere)) process.kill(process.pid, 'SIGKILL');
};

const { renameSync } = fs;
fs.renameSync = (from, to) => {
  kill('rename-before', from, to);
  renameSync(from, to);
  kill('rename-after', from, to);
};
const { rename, rm } = fs.promises;
fs.promises.rename = async (from, to) => {
  kill('rename-before', from, to);
  await rename(from, to);
  kill('rename-after', from, to);
};
fs.promises.rm = async (path, options) => {
  kill('remove-before', path);
  await rm(path, options);
  kill('remove-after', path);
};
syncBuiltinESMExports();
