import { pino } from 'pino';
import type { Config } from './config.ts';

export type Logger = ReturnType<typeof createLogger>;

/** The service's log: one JSON object per line on standard output. */
export function createLogger(config: Config) {
  // The reader of the log may exit (`hone serve | head`). pino's own destination would then retry forever and block the
  // process.
  process.stdout.on('error', () => undefined);
  return pino({ level: config.logLevel, base: null, redact: ['token', 'hubToken'] }, process.stdout);
}
