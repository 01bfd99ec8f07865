import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTally } from '../../../src/domain/events/consumption.ts';
import type { Point } from '../../../src/domain/events/series.ts';

test('energy adds up, peaks are peaks, means weigh by time, and the unknown stays null', () => {
  const point = (step: number, hardware?: object): Point => ({ step, ...(hardware ? { hardware } : {}) });
  const tally = createTally();
  const steps = [
    point(1, {
      seconds: 1,
      gpu_watt_hours: 500,
      gpu_peak_bytes: 7,
      cpu_mean_percent: 100,
      cpu_watt_hours: null,
    }),
    point(2),
    point(3, {
      seconds: 3,
      gpu_watt_hours: 1500,
      gpu_peak_bytes: 5,
      cpu_mean_percent: 20,
      cpu_watt_hours: null,
    }),
  ];
  for (const step of steps) tally.add(step);
  const whole = tally.consumption();
  assert.equal(whole, {
    gpu_kilowatt_hours: 2,
    cpu_kilowatt_hours: null,
    gpu_peak_bytes: 7,
    ram_peak_bytes: null,
    gpu_mean_utilization_percent: null,
    cpu_mean_percent: 40,
  });
  tally.add(point(4, { seconds: 0, gpu_watt_hours: 250 }));
  assert.equal(tally.consumption(), { ...whole, gpu_kilowatt_hours: 2.25 }, 'more can be added');
});

test('a run without a trace has no figures', () => {
  assert.equal(new Set(Object.values(createTally().consumption())), new Set([null]));
});

test.run();
