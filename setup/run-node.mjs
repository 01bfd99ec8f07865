import { spawn } from 'node:child_process';

/**
 * Runs Node with this process's stdio and waits for it. Signals are passed on, and a signal that ends it also ends this
 * process.
 * @returns its exit code.
 */
export function runNode(program, args, options = {}) {
  const child = spawn(program, args, { ...options, stdio: 'inherit' });
  // A terminal sends Ctrl+C to the child as well; a signal that was sent to this process alone is passed on.
  const pass = (signal) => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, pass);
  return new Promise((resolve) => {
    child.on('error', (error) => {
      console.error(`hone: ${program} could not be started: ${error.message}`);
      resolve(1);
    });
    child.on('exit', (code, signal) => {
      if (signal === null) return resolve(code);
      for (const name of signals) process.off(name, pass);
      process.kill(process.pid, signal);
      // If the signal does not end a process (Windows), or is ignored.
      resolve(1);
    });
  });
}
