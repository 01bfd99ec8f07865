import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The process that listens on a TCP port, as "process 123 (node)"; `null` if unknown. */
export async function portHolder(port: number): Promise<string | null> {
  const pid = process.platform === 'linux' ? await linuxHolder(port) : await lsofHolder(port);
  if (pid === null) return null;
  const command = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
  return `process ${pid}${command ? ` (${command.trim()})` : ''}`;
}

/** proc(5): /proc/net/tcp has local address and inode of each socket; state 0A is LISTEN. */
async function linuxHolder(port: number): Promise<number | null> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFile(path, 'utf8').catch(() => '')),
  );
  const row = tables
    .flatMap((table) => table.split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .find((fields) => fields[1]?.endsWith(suffix) && fields[3] === '0A');
  if (row === undefined) return null;
  const wanted = `socket:[${row[9]}]`;
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    for (const descriptor of await readdir(`/proc/${name}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${name}/fd/${descriptor}`).catch(() => '');
      if (target === wanted) return Number(name);
    }
  }
  return null;
}

async function lsofHolder(port: number): Promise<number | null> {
  try {
    const { stdout } = await run('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-t']);
    return Number.parseInt(stdout, 10) || null;
  } catch {
    return null;
  }
}
