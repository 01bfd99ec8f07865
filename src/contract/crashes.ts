const crashSignals: readonly unknown[] = ['SIGABRT', 'SIGSEGV', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGTRAP'];

/**
 * Whether a process that ended like this crashed by itself, rather than being killed. Windows has exit codes from
 * 0xC0000000 for it.
 */
export const hasCrashed = (code: number | null, signal: string | null): boolean =>
  crashSignals.includes(signal) || (code ?? 0) >= 0xc0000000;
