/** Our own estimate of memory against what trainings really take, at their peak. */
import { test } from 'uvu';
import { model } from '../models.ts';
import { endAll } from '../service.ts';
import { estimatingService, factor, growthFactor, measure, within } from './measured-memory.ts';

test.after(endAll);

test(`the estimate is within ${factor} times the peak, of a small step and of a large one`, async () => {
  const service = await estimatingService();
  const small = { model_name: model('small'), per_device_train_batch_size: 1, max_seq_length: 64 };
  const large = { ...small, per_device_train_batch_size: 8, max_seq_length: 512 };
  const short = await measure(service, small);
  const long = await measure(service, large);
  for (const { estimated, peak } of [short, long]) within(estimated, peak, factor);
  within(long.estimated - short.estimated, long.own - short.own, growthFactor);
});

test(`so is that of a run that writes answers`, async () => {
  const service = await estimatingService();
  const rows = Array.from({ length: 40 }, (_, at) => ({ prompt: `Parcel and invoice ${at}. `.repeat(8) }));
  await service.upload('prompts.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
  const alike = {
    ...{ type: 'text_similarity', name: 'alike', evaluation_metric: 'fuzzy_match' },
    ...{ input: '{{sample.output_text}}', reference: '{{item.prompt}}' },
  };
  const { estimated, peak } = await measure(service, {
    ...{
      model_name: model('small'),
      dataset: 'prompts.jsonl',
      strategy: 'grpo',
      graders: [{ grader: alike }],
    },
    ...{ per_device_train_batch_size: 8, max_seq_length: 256, max_answer_tokens: 64 },
  });
  within(estimated, peak, factor);
});

test.run();
