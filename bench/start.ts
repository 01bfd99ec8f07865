import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import WebSocket from 'ws';
import { makeInputs } from './harness/inputs.ts';
import { runMeasured } from './harness/measured.ts';
import { programs, python, pythonVersion, root } from './harness/places.ts';
import type { Scenario, Trial, TrialInput } from './harness/scenario.ts';
import { startHone } from './harness/server.ts';
import { untilWarm, upload } from './harness/service.ts';

/*
 * How long a user waits between "start" and the first step of a small model. Ours: from the request to the frame of the
 * first step on the socket, with a trainer that was warmed up by a request for the training's requirements, and without
 * such a request, so that nothing is warm. The peer: from the start of a script with plain TRL to its first step. All use
 * one thread and the same model, rows, seed and settings, and must have the same loss at that step.
 */

const learningRate = 1e-3;
const nearness = 0.01;
const env = { OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1', PYTHONPATH: root };

interface First {
  readonly loss: number;
  readonly tokens: number;
}

/** From the request to the frame of step 1, of a service with its own data folder. */
async function firstStep({ dir, number }: TrialInput, warm: boolean): Promise<Trial> {
  const data = join(dir, `${warm ? 'warm' : 'cold'}-${number}`);
  mkdirSync(data);
  const server = await startHone(data, { env, args: ['--log-level', 'debug'] });
  try {
    let isWarm = false;
    const warmed = untilWarm(server).then(() => {
      isWarm = true;
    });
    const post = async (path: string, body: string) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(server.url + path, { method: 'POST', body, headers });
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    };
    await upload(server, 'rows.jsonl', readFileSync(join(dir, 'rows.jsonl')));
    const request = JSON.stringify({
      ...{ task: 'text-generation', model_name: join(dir, 'model'), dataset: 'rows.jsonl' },
      ...{ max_steps: 1, learning_rate: learningRate, per_device_train_batch_size: 8 },
      ...{ gradient_accumulation_steps: 1, max_seq_length: 1024, warmup_ratio: 0, seed: 42 },
      ...{ lr_scheduler_type: 'linear', optim: 'adamw_torch_fused', lora_r: 16, lora_alpha: 32 },
      ...{ lora_dropout: 0, weight_decay: 0, max_grad_norm: 1, eval_split: 0, device: 'cpu' },
      export: 'none',
    });
    if (warm) {
      await post('/api/estimate', request);
      await warmed;
    }
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/ws/training`);
    await new Promise((resolve) => socket.once('open', resolve));
    const first = new Promise<First>((resolve, reject) => {
      socket.on('message', (text) => {
        const frame = JSON.parse(String(text));
        if (frame.type === 'metrics' && frame.step === 1) resolve(frame);
        if (frame.type === 'status' && frame.status === 'error') reject(new Error(String(text)));
      });
    });
    if (!warm && isWarm) throw new Error('a trainer was warm that nobody asked for');
    const begun = performance.now();
    await post('/api/start_training', request);
    const { loss, tokens } = await first;
    const seconds = (performance.now() - begun) / 1000;
    socket.close();
    return { figures: { seconds }, answer: { loss, tokens } };
  } finally {
    await server.end();
  }
}

export const scenario: Scenario = {
  name: 'start',
  about: 'from the request to the first optimizer step',
  runs: { full: 3, quick: 1 },
  warmUps: { full: 1, quick: 0 },
  // The model is small, because the startup is measured and not the step.
  prepare: (input) => makeInputs('training_inputs.py', ['test', 'input-output'], input),
  sides: [
    {
      name: 'hone',
      about: 'POST start, to the frame of step 1, with a warm trainer',
      trial: (input) => firstStep(input, true),
    },
    {
      name: 'cold',
      about: 'the same, of a service that nobody has asked for anything before',
      trial: (input) => firstStep(input, false),
    },
    {
      name: 'TRL',
      about: async () => `a plain script from its start, TRL ${await pythonVersion('trl')}`,
      trial: async ({ dir, number }) => {
        const begun = Date.now() / 1000;
        const args = [
          join(programs, 'training_trl.py'),
          dir,
          '1',
          String(learningRate),
          join(dir, `trl-${number}`),
          'input-output',
        ];
        const { stdout } = await runMeasured(python, args, { env });
        const [step] = JSON.parse(stdout.slice(stdout.trimEnd().lastIndexOf('\n') + 1));
        return { figures: { seconds: step.at - begun }, answer: { loss: step.loss, tokens: step.tokens } };
      },
    },
  ],
  comparisons: [
    {
      ...{ metric: 'time to the first step', figure: 'seconds', unit: 's', better: 'less', peer: 'TRL' },
      goal: { times: 12 },
    },
    {
      ...{ ours: 'cold', metric: 'time to the first step, nothing warm', figure: 'seconds', unit: 's' },
      ...{ better: 'less', peer: 'TRL', goal: { share: 0.7 } },
    },
  ],
  check: (answers) => {
    const theirs = answers.TRL as First | undefined;
    for (const ours of [answers.hone, answers.cold] as (First | undefined)[]) {
      if (ours === undefined || theirs === undefined) continue;
      if (Math.abs(ours.loss - theirs.loss) > nearness * theirs.loss || ours.tokens !== theirs.tokens) {
        throw new Error(
          `the first step differs: ${JSON.stringify(ours)} here, ${JSON.stringify(theirs)} there`,
        );
      }
    }
  },
};
