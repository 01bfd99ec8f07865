import { venvPython } from '../paths.mjs';
import { runTool } from '../tool.mjs';

const megabytes = (bytes) => Math.round(bytes / 1e6);

/** Reports the current package and its progress from pip's output. */
function reader(progress, total) {
  let name = '';
  let nth = 0;
  return (line) => {
    const collecting = /^Collecting ([A-Za-z0-9._-]+)/.exec(line);
    const bytes = /^Progress (\d+) of (\d+)/.exec(line);
    const installing = /^Installing collected packages: (.*)/.exec(line);
    if (collecting) {
      name = collecting[1];
      nth += 1;
      progress.update(total ? `${name} (${Math.min(nth, total)} of ${total})` : name);
    } else if (bytes && Number(bytes[2]) > 5e6) {
      progress.update(`${name} ${megabytes(bytes[1])} of ${megabytes(bytes[2])} MB`);
    } else if (installing) {
      progress.update(`unpacking ${installing[1].split(', ').length} packages`);
    }
  };
}

/** Whether pip of the trainer's environment can print its progress as lines: from 24.1 on. */
export async function pipTellsProgress() {
  const version = await runTool(venvPython, ['-c', 'import pip; print(pip.__version__)']);
  const [major, minor] = version.split('.').map(Number);
  return major > 24 || (major === 24 && minor >= 1);
}

/**
 * Runs pip of the trainer's environment, with its progress.
 * @param total how many packages are wanted, as far as known.
 * @throws ToolError with pip's last lines.
 */
export async function pip(args, progress, total = 0) {
  const bar = (await pipTellsProgress()) ? 'raw' : 'off';
  const fixed = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--progress-bar', bar];
  const env = { ...process.env, PYTHONUNBUFFERED: '1', PIP_ROOT_USER_ACTION: 'ignore' };
  return runTool(venvPython, [...fixed, ...args], { env, onLine: reader(progress, total) });
}
