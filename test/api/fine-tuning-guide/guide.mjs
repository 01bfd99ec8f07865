/**
 * A script for OpenAI's fine-tuning API, in the manner of its guide. Nothing in it knows of Hone: the library reads
 * OPENAI_BASE_URL and OPENAI_API_KEY itself, and the model's name is an argument.
 */
import { createReadStream } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';

const [trainingPath, validationPath, baseModel] = process.argv.slice(2);
const client = new OpenAI();

const upload = (path) => client.files.create({ file: createReadStream(path), purpose: 'fine-tune' });
const trainingFile = await upload(trainingPath);
const validationFile = await upload(validationPath);

let job = await client.fineTuning.jobs.create({
  model: baseModel,
  training_file: trainingFile.id,
  validation_file: validationFile.id,
  suffix: 'support',
  method: { type: 'supervised', supervised: { hyperparameters: { n_epochs: 1, batch_size: 8 } } },
});
console.log('job', job.id);

const seen = new Set();
while (!['succeeded', 'failed', 'cancelled'].includes(job.status)) {
  await sleep(500);
  job = await client.fineTuning.jobs.retrieve(job.id);
  const { data: events } = await client.fineTuning.jobs.listEvents(job.id, { limit: 100 });
  for (const event of events.reverse()) {
    if (seen.has(event.id)) continue;
    seen.add(event.id);
    console.log('event', event.type, event.message);
  }
}
if (job.status !== 'succeeded') throw new Error(`The job is ${job.status}: ${JSON.stringify(job.error)}`);

console.log('tokens', job.trained_tokens);
const results = await (await client.files.content(job.result_files[0])).text();
console.log('results', results.split('\n')[0]);
const [checkpoint] = (await client.fineTuning.jobs.checkpoints.list(job.id)).data;
console.log('checkpoint', checkpoint.step_number, checkpoint.fine_tuned_model_checkpoint);
console.log('model', (await client.models.retrieve(job.fine_tuned_model)).id);

const completion = await client.chat.completions.create({
  model: job.fine_tuned_model,
  messages: [
    { role: 'system', content: 'You help the customers of a shop.' },
    { role: 'user', content: 'My parcel has not come.' },
  ],
  max_tokens: 8,
});
console.log('answer', completion.choices[0].message.role, completion.usage.completion_tokens);
