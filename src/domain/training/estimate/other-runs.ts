import type { ModelSize } from '../../base-models/model-size.ts';
import type { JudgedChoices } from '../judge-choices.ts';
import type { DiskNeed } from './disk-need.ts';
import { runNeed } from './run-need.ts';

/** A run that is going while another one is planned. */
export interface OtherRun {
  readonly name: string;
  readonly modelName: string;
  readonly choices: Omit<JudgedChoices, 'context'>;
  readonly disk: DiskNeed;
  /** Whether the planned run can start before it has ended. */
  readonly isBeside: boolean;
  /** The memory that it uses now, which is not free; 0 before its first step. */
  readonly memoryBytes: number;
  /** What it has written so far. */
  readonly writtenBytes: number;
  /** The numbers of the GPUs that it has, if it has some and not all. */
  readonly devices: readonly number[];
}

/** The memory and disk that is free now and that another run will still take. */
export interface Reserved {
  readonly name: string;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/**
 * What a run will still take, by its own estimate. On a GPU it has memory of its own; and what ends before the planned
 * run starts gives its memory back.
 */
export function stillTakes(other: OtherRun, size: ModelSize, context: JudgedChoices['context']): Reserved {
  const { gpu, bytes, fine } = runNeed(size, { ...other.choices, context }, other.disk);
  const isShared = other.isBeside && !gpu;
  // What it downloads is partly there, in the cache of the hub, and others may share it.
  const { totalBytes = 0, downloadBytes = 0 } = fine?.disk ?? {};
  return {
    name: other.name,
    memoryBytes: isShared ? Math.max(0, (bytes ?? 0) - other.memoryBytes) : 0,
    diskBytes: Math.max(0, totalBytes - downloadBytes - other.writtenBytes),
  };
}

/** Less is not worth a word. */
const leastBytes = 100e6;
const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;

/** That space which is free now is another run's, one sentence for each. */
export function reservedAdvice(reserved: readonly Reserved[]): string[] {
  return reserved.flatMap(({ name, memoryBytes, diskBytes }) => {
    const parts = [
      ...(memoryBytes < leastBytes ? [] : [`${gigabytes(memoryBytes)} of memory`]),
      ...(diskBytes < leastBytes ? [] : [`${gigabytes(diskBytes)} of disk`]),
    ];
    return parts.length === 0
      ? []
      : [
          `Another run is using this machine: ${name} will still take about ${parts.join(' and ')}, not counted as free here.`,
        ];
  });
}
