import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { GpuSample, HardwareSample } from '../../src/hardware/sample.ts';
import { createTracer } from '../../src/hardware/trace.ts';

const gpu = (figures: Partial<GpuSample>): GpuSample => ({
  index: 0,
  lost: false,
  utilizationPercent: null,
  memoryUtilizationPercent: null,
  usedBytes: null,
  totalBytes: null,
  temperatureCelsius: null,
  powerWatts: null,
  energyJoules: null,
  smClockMHz: null,
  memoryClockMHz: null,
  throttleReasons: null,
  pcieTxBytesPerSecond: null,
  pcieRxBytesPerSecond: null,
  processes: [],
  ...figures,
});
const frame = (timeMs: number, gpus: GpuSample[], rest: Partial<HardwareSample> = {}): HardwareSample => ({
  timeMs,
  cpuPercent: null,
  ramUsedBytes: null,
  ramTotalBytes: null,
  packageWatts: null,
  gpuState: gpus.length > 0 ? 'read' : 'none',
  gpuLateMs: 0,
  gpus,
  ...rest,
});

test('peaks, means and energy of each step; the steps add up to the run', () => {
  const tracer = createTracer();
  tracer.add(
    frame(0, [gpu({ energyJoules: 1000, usedBytes: 10, utilizationPercent: 50 })], { cpuPercent: 10 }),
  );
  tracer.add(
    frame(1000, [gpu({ energyJoules: 1360, usedBytes: 30, utilizationPercent: 100 })], { cpuPercent: 30 }),
  );
  const first = tracer.take();
  assert.equal(first, {
    seconds: 1,
    samples: 2,
    gpuPeakBytes: 30,
    gpuMeanUtilizationPercent: 75,
    gpuWattHours: 0.1,
    cpuMeanPercent: 20,
    ramPeakBytes: null,
    cpuWattHours: null,
  });
  tracer.add(
    frame(2000, [gpu({ energyJoules: 1720, usedBytes: 20 })], { ramUsedBytes: 7, packageWatts: 36 }),
  );
  const second = tracer.take();
  assert.is(second.gpuWattHours, 0.1, 'what was used between the steps is not lost');
  assert.is(second.gpuMeanUtilizationPercent, null);
  assert.is(second.ramPeakBytes, 7);
  assert.is(second.cpuWattHours, 0.01);
  assert.is(tracer.take().samples, 0);
});

test('without a counter the power is summed; a counter that begins again does not count backwards', () => {
  const tracer = createTracer();
  tracer.add(frame(0, [gpu({ powerWatts: 100 })]));
  tracer.add(frame(36_000, [gpu({ powerWatts: 100 })]));
  assert.is(tracer.take().gpuWattHours, 1);
  const reset = createTracer();
  reset.add(frame(0, [gpu({ energyJoules: 5000 })]));
  reset.add(frame(1000, [gpu({ energyJoules: 10, powerWatts: 3.6 })]));
  assert.is(reset.take().gpuWattHours, 0.001);
});

test('what was used while the driver was late is counted, and once', () => {
  const tracer = createTracer();
  tracer.add(frame(0, [gpu({ energyJoules: 1000, powerWatts: 100 })]));
  tracer.add(frame(1000, [], { gpuState: 'late' }));
  tracer.add(frame(2000, [gpu({ powerWatts: 100 })]));
  assert.is(tracer.take().gpuWattHours, null, 'not known yet');
  tracer.add(frame(36_000, [gpu({ energyJoules: 4600, powerWatts: 100 })]));
  assert.is(tracer.take().gpuWattHours, 1);
});

test('without a GPU, there are no GPU figures', () => {
  const tracer = createTracer();
  tracer.add(frame(0, [], { cpuPercent: 80 }));
  const trace = tracer.take();
  assert.is(trace.gpuPeakBytes, null);
  assert.is(trace.gpuWattHours, null);
  assert.is(trace.cpuMeanPercent, 80);
});

test.run();
