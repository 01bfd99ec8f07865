import { writeSync } from 'node:fs';
import { asAppError } from '../errors.ts';
import { usableCores } from '../hardware/container-limits.ts';
import { loadAddon } from '../native/addon.ts';
import { quantize, quantizeErrorCode } from '../native/quantize.ts';

/*
 * The program behind `tools.quantize`:  node dist/quantize.js IN.gguf OUT.gguf TYPE [IMPORTANCE.gguf]
 *
 * Standard output: JSON lines {"progress":0...1}; on success the last one also has "bytes" and "fallback_tensors".
 * Failure: exit code 1, one JSON line {"code","message"} on standard error, no output file. SIGTERM and SIGINT cancel.
 * It runs in its own process because llama.cpp aborts on some broken models. Where its parent gave it an IPC channel, the
 * end of the parent cancels, too.
 */

/** If a cancelled run is still in the same tensor after this time, the process exits without waiting for llama.cpp. */
const cancelPatienceMs = 1500;

function line(descriptor: 1 | 2, record: Record<string, unknown>): void {
  try {
    writeSync(descriptor, `${JSON.stringify(record)}\n`);
  } catch {
    // The reader has gone; the work continues.
  }
}

async function main(): Promise<void> {
  const [input, output, type, importance, ...rest] = process.argv.slice(2);
  if (input === undefined || output === undefined || type === undefined || rest.length > 0) {
    line(2, { code: 'usage', message: 'Usage: quantize IN.gguf OUT.gguf TYPE [IMPORTANCE.gguf]' });
    process.exitCode = 1;
    return;
  }

  const controller = new AbortController();
  const cancel = () => {
    controller.abort();
    setTimeout(() => {
      line(2, { code: 'cancelled', message: 'Quantization was cancelled.' });
      process.emit('exit', 1); // removes the temporary output file
      loadAddon().addon?.exitNow(1); // a normal exit would race with llama.cpp's threads
    }, cancelPatienceMs).unref();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, cancel);
  process.once('disconnect', cancel);
  process.channel?.unref();

  let shown = -1;
  try {
    const result = await quantize(input, output, type.toUpperCase(), {
      threads: usableCores(),
      requantize: true,
      importance: importance ?? null,
      signal: controller.signal,
      onProgress: (share) => {
        const progress = Math.round(share * 1000) / 1000;
        if (progress > shown && progress < 1) line(1, { progress });
        shown = Math.max(shown, progress);
      },
    });
    line(1, { progress: 1, bytes: result.bytes, fallback_tensors: result.fallbackTensors });
  } catch (error) {
    line(2, { code: quantizeErrorCode(error), message: asAppError(error).message });
    process.exitCode = 1;
  }
}

await main();
