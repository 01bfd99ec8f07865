/** The estimate of memory for a tiny model, and for one with a large vocabulary. */
import { test } from 'uvu';
import { model } from '../models.ts';
import { endAll, tinyModel } from '../service.ts';
import { estimatingService, factor, measure, within } from './measured-memory.ts';

test.after(endAll);

test(`the estimate is within ${factor} times the peak of a tiny model, and of one with many tokens`, async () => {
  const service = await estimatingService();
  const tiny = await measure(service, { model_name: tinyModel('llama'), max_seq_length: 128 });
  const many = await measure(service, {
    model_name: model('small-many-tokens'),
    per_device_train_batch_size: 8,
    max_seq_length: 512,
  });
  for (const { estimated, peak } of [tiny, many]) within(estimated, peak, factor);
});

test.run();
