/** The estimate of memory for a tiny model, for one with a large vocabulary, and in full precision. */
import { test } from 'uvu';
import { model } from '../models.ts';
import { endAll, tinyModel } from '../service.ts';
import { estimatingService, factor, measure, within } from './measured-memory.ts';

test.after(endAll);

test(`the estimate is within ${factor} times the peak of a tiny model, of one with many tokens, and in full precision`, async () => {
  const service = await estimatingService();
  const tiny = await measure(service, { model_name: tinyModel('llama'), max_seq_length: 128 });
  const many = await measure(service, {
    model_name: model('small-many-tokens'),
    per_device_train_batch_size: 8,
    max_seq_length: 512,
  });
  const full = await measure(service, {
    model_name: model('small'),
    per_device_train_batch_size: 8,
    max_seq_length: 512,
    bf16: false,
  });
  for (const { estimated, peak } of [tiny, many, full]) within(estimated, peak, factor);
});

test.run();
