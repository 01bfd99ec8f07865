import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const windows = process.platform === 'win32';

/** The path of a program on the search path, or null. */
export function onPath(name, path = process.env.PATH ?? '') {
  const endings = windows ? (process.env.PATHEXT ?? '.EXE;.CMD').split(';') : [''];
  for (const folder of path.split(delimiter).filter(Boolean)) {
    for (const ending of endings) {
      const file = join(folder, name + ending);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        // Not here.
      }
    }
  }
  return null;
}

/** The package manager's arguments for each prerequisite. */
const INSTALL = {
  'apt-get': {
    command: 'apt-get install -y',
    python: 'python3 python3-venv',
    compiler: 'g++',
    cmake: 'cmake',
    make: 'make',
    git: 'git',
  },
  dnf: {
    command: 'dnf install -y',
    python: 'python3.13',
    compiler: 'gcc-c++',
    cmake: 'cmake',
    make: 'make',
    git: 'git',
  },
  pacman: {
    command: 'pacman -S --needed',
    python: 'python',
    compiler: 'gcc',
    cmake: 'cmake',
    make: 'make',
    git: 'git',
  },
  zypper: {
    command: 'zypper install -y',
    python: 'python312',
    compiler: 'gcc-c++',
    cmake: 'cmake',
    make: 'make',
    git: 'git',
  },
  brew: {
    command: 'brew install',
    python: 'python@3.13',
    compiler: 'llvm',
    cmake: 'cmake',
    make: 'make',
    git: 'git',
  },
  winget: {
    command: 'winget install',
    python: 'Python.Python.3.13',
    compiler:
      'Microsoft.VisualStudio.2022.BuildTools --override "--add Microsoft.VisualStudio.Workload.VCTools"',
    cmake: 'Kitware.CMake',
    git: 'Git.Git',
  },
};

/** The command that installs a prerequisite on this platform. */
function installHint(name, platform = process.platform) {
  if (platform === 'darwin' && name !== 'python' && name !== 'cmake') return 'xcode-select --install';
  const fixed = { darwin: 'brew', win32: 'winget' }[platform];
  // Also look in the standard folders, in case the search path is short.
  const system = `${process.env.PATH ?? ''}${delimiter}/usr/bin${delimiter}/bin`;
  const manager = fixed ?? ['apt-get', 'dnf', 'pacman', 'zypper'].find((tool) => onPath(tool, system));
  if (manager === undefined) return `install ${name} with your system's package manager`;
  const { command } = INSTALL[manager];
  const sudo = platform !== 'win32' && manager !== 'brew' && process.getuid?.() !== 0 ? 'sudo ' : '';
  return `${sudo}${command} ${INSTALL[manager][name]}`;
}

const PROBE =
  'import sys,struct,venv,ensurepip; print(sys.version_info[0], sys.version_info[1], struct.calcsize("P")*8)';

/**
 * Finds a 64-bit Python 3.10 to 3.14 with venv and ensurepip; `HONE_PYTHON` overrides the search.
 * @returns {{ command: string[], version: string } | { missing: string }} `missing` says what was found.
 */
export function findPython() {
  const named = process.env.HONE_PYTHON ? [[process.env.HONE_PYTHON]] : null;
  const candidates = named ?? [
    ...['python3.13', 'python3.14', 'python3.12', 'python3.11', 'python3.10', 'python3', 'python'].map(
      (name) => [name],
    ),
    ...(windows
      ? [
          ['py', '-3.13'],
          ['py', '-3.12'],
          ['py', '-3'],
        ]
      : []),
  ];
  const seen = [];
  for (const command of candidates) {
    const file = named ? command[0] : onPath(command[0]);
    if (file === null) continue;
    const asked = spawnSync(file, [...command.slice(1), '-c', PROBE], {
      encoding: 'utf8',
      windowsHide: true,
    });
    const found = /^(\d+) (\d+) (\d+)/.exec(asked.stdout ?? '');
    if (found === null) {
      const lacking = /No module named '?(venv|ensurepip)/.exec(asked.stderr ?? '');
      if (lacking) seen.push(`${command.join(' ')} lacks ${lacking[1]}`);
      continue;
    }
    const [, major, minor, bits] = found.map(Number);
    if (major === 3 && minor >= 10 && minor <= 14 && bits === 64) {
      return { command: [file, ...command.slice(1)], version: `${major}.${minor}` };
    }
    seen.push(`${command.join(' ')} is ${major}.${minor} (${bits} bits)`);
  }
  return { missing: `Python 3.10 to 3.14 with venv${seen.length ? ` (found: ${seen.join('; ')})` : ''}` };
}

function hasCompiler() {
  if (!windows)
    return [process.env.CXX, 'c++', 'g++', 'clang++'].some(
      (name) => name && (existsSync(name) || onPath(name)),
    );
  const vswhere = join(
    process.env['ProgramFiles(x86)'] ?? '',
    'Microsoft Visual Studio',
    'Installer',
    'vswhere.exe',
  );
  const asked = spawnSync(vswhere, ['-latest', '-products', '*', '-property', 'installationPath'], {
    encoding: 'utf8',
  });
  return asked.status === 0 && asked.stdout.trim() !== '';
}

/**
 * Returns the missing ones of `names` (python, compiler, cmake, make, git).
 * @returns {{ what: string, install: string }[]}
 */
export function missingPrerequisites(names) {
  const missing = [];
  const miss = (name, what) => missing.push({ what, install: installHint(name) });
  const python = names.includes('python') ? findPython() : {};
  if (python.missing !== undefined) miss('python', python.missing);
  if (names.includes('compiler') && !hasCompiler()) miss('compiler', 'a C++17 compiler');
  if (names.includes('cmake') && onPath('cmake') === null) miss('cmake', 'cmake');
  if (names.includes('make') && !windows && onPath('make') === null) miss('make', 'make');
  if (names.includes('git') && onPath('git') === null) miss('git', 'git');
  return missing;
}

/**
 * Whether an NVIDIA driver is installed, judged by its files, without starting a program. `HONE_NVIDIA` (0 or 1) says it
 * where an image is built, which gets the driver of the machine that it runs on.
 */
export function hasNvidiaDriver() {
  if (process.env.HONE_NVIDIA) return process.env.HONE_NVIDIA === '1';
  if (process.platform === 'darwin') return false;
  if (windows) return existsSync(join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'nvcuda.dll'));
  const libraries = [
    '/usr/lib/x86_64-linux-gnu',
    '/usr/lib/aarch64-linux-gnu',
    '/usr/lib64',
    '/usr/lib',
    '/usr/lib/wsl/lib',
  ];
  return (
    existsSync('/proc/driver/nvidia/version') ||
    libraries.some((folder) => existsSync(join(folder, 'libcuda.so.1'))) ||
    onPath('nvidia-smi') !== null
  );
}
