import { existsSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { inRoot, root, venvPython } from '../paths.mjs';
import { findPython, hasNvidiaDriver } from '../prerequisites.mjs';
import { digest } from '../stamp.mjs';
import { runTool } from '../tool.mjs';
import { pip, pipTellsProgress } from './pip.mjs';

const VENV = inRoot('trainer', '.venv');
/** Exists while pip is installing into the environment. */
const UNFINISHED = inRoot('trainer', '.venv', 'unfinished');
const REQUIREMENTS = 'trainer/requirements.txt';
/** PyTorch's CPU builds for Linux, a twentieth of the default size. */
const CPU_INDEX = 'https://download.pytorch.org/whl/cpu';
const CPU_INDEX_WAIT_SECONDS = 8;
const PIP = 'pip==26.3';
/**
 * With less free space, pip keeps no copy of what it downloads: PyTorch's default build takes 7 GB, and its packages
 * another 3 GB while they are unpacked.
 */
const ROOMY_BYTES = 20e9;

/** Whether the environment is complete and has a supported Python. */
async function isWhole() {
  if (!existsSync(venvPython) || existsSync(UNFINISHED)) return false;
  const code = 'import sys, pip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))';
  try {
    await runTool(venvPython, ['-c', code]);
    return true;
  } catch {
    return false;
  }
}

/** The installed version of a package, or ''. */
async function installed(name) {
  const code =
    'import sys, importlib.metadata as m\ntry: print(m.version(sys.argv[1]))\nexcept m.PackageNotFoundError: pass';
  return (await runTool(venvPython, ['-c', code, name])).trim();
}

function requirements() {
  return readFileSync(inRoot(REQUIREMENTS), 'utf8')
    .split('\n')
    .filter((line) => line.includes('=='));
}

/** pip's arguments on this disk. */
function keeping() {
  const { bavail, bsize } = statfsSync(inRoot());
  return bavail * bsize < ROOMY_BYTES ? ['--no-cache-dir'] : [];
}

/** A version of pip that prints progress; older ones also work. */
async function renewPip(progress) {
  if (await pipTellsProgress()) return;
  try {
    await runTool(venvPython, ['-m', 'pip', 'install', '--quiet', '--no-input', '--retries', '1', PIP]);
  } catch {
    progress.say(`    ${PIP} is not available; using the version that came with Python.`);
  }
}

/** Chooses the build of torch on Linux by whether there is an NVIDIA driver. */
async function chooseTorch(progress) {
  if (process.platform !== 'linux') return;
  const wanted = requirements().find((line) => line.startsWith('torch=='));
  if (wanted === undefined) return;
  const has = await installed('torch');
  if (hasNvidiaDriver()) {
    if (has.endsWith('+cpu')) await pip([...keeping(), '--force-reinstall', '--no-deps', wanted], progress);
    return;
  }
  if (has.split('+')[0] === wanted.split('==')[1].trim()) return;
  progress.update("no NVIDIA driver: asking for PyTorch's CPU build");
  const brief = ['--timeout', String(CPU_INDEX_WAIT_SECONDS), '--retries', '0'];
  try {
    await pip(['--index-url', CPU_INDEX, ...brief, '--no-deps', wanted], progress);
  } catch {
    progress.say("    PyTorch's CPU build is unreachable; the default one (with CUDA, 5 GB) is used.");
  }
}

/** The trainer's Python environment, from pinned requirements. */
export const python = {
  name: 'python',
  title: 'Python packages',
  makes: [relative(root, venvPython)],
  needs: ['python'],
  from: () => digest([REQUIREMENTS], [process.platform, process.arch, `nvidia ${hasNvidiaDriver()}`]),
  async run(progress) {
    if (!(await isWhole())) {
      const found = findPython();
      if (found.missing !== undefined) throw new Error(`${found.missing} is missing.`);
      progress.update(`creating an environment with Python ${found.version}`);
      rmSync(VENV, { recursive: true, force: true });
      const [command, ...before] = found.command;
      await runTool(command, [...before, '-m', 'venv', VENV]);
    }
    writeFileSync(UNFINISHED, '');
    const wanted = requirements();
    if (wanted.length > 0) {
      await renewPip(progress);
      await chooseTorch(progress);
      await pip([...keeping(), '-r', inRoot(REQUIREMENTS)], progress, wanted.length);
    }
    rmSync(UNFINISHED, { force: true });
  },
};
