import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { classify } from '../../../src/domain/machine/profile.ts';

test('every boundary of the ordered rules, on both sides', () => {
  const rules: [number, number, string][] = [
    [0, 0, 'low_end'],
    [0, 1000, 'low_end'],
    [7.19, 15.2, 'low_end'],
    [7.2, 15.19, 'low_end'],
    [7.2, 15.2, 'mid_range'],
    [15.19, 15.19, 'low_end'],
    [15.19, 15.2, 'mid_range'],
    [15.2, 15.19, 'mid_range'],
    [15.2, 15.2, 'high_end'],
    [1000, 1000, 'high_end'],
  ];
  for (const [vram, ram, profile] of rules) assert.is(classify(vram, ram), profile, `${vram} and ${ram} GB`);
});

test.run();
