/** Requests for fine-tuning jobs that are refused: each in OpenAI's format, naming the field, and nothing changes. */

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Json, tinyModel } from '../service.ts';
import { description, service, unchanged, useService } from './bad-requests.ts';

useService();
const path = '/v1/fine_tuning/jobs';
const model = tinyModel('llama');
let file = '';

test('there is a file to train on', async () => {
  const { data } = (await service.call('GET', '/v1/files')).body;
  assert.is(data.length, 1);
  file = data[0].id;
});

const hyper = (hyperparameters: Json) => ({ hyperparameters });
const method = (type: string, hyperparameters: Json) => ({ method: { type, [type]: { hyperparameters } } });
const grader = {
  ...{ type: 'string_check', name: 'exact', operation: 'eq' },
  ...{ input: '{{sample.output_text}}', reference: '{{item.output}}' },
};
const reinforced = (hyperparameters: Json, more: Json = {}) => ({
  method: { type: 'reinforcement', reinforcement: { grader, hyperparameters, ...more } },
});
const pairs = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']));

const refusals: Record<string, [changes: Json, param: string, message: RegExp]> = {
  'no model': [{ model: undefined }, 'model', /required/],
  'a model of OpenAI': [
    { model: 'gpt-4o-mini-2024-07-18' },
    'model',
    /model of OpenAI.*owner\/name.*such as "[^"/]+\//s,
  ],
  'an old model of OpenAI': [{ model: 'davinci-002' }, 'model', /model of OpenAI/],
  'a fine-tuned model': [{ model: 'ft:gpt-4o-mini:acme::7p4lURel' }, 'model', /base model/],
  'a model that is neither name nor folder': [{ model: 'nonsense' }, 'model', /neither a hub ID/],
  'a folder that there is not': [{ model: '/nowhere/at/all' }, 'model', /does not exist/],
  'no training file': [{ training_file: undefined }, 'training_file', /required/],
  'a training file that there is not': [{ training_file: 'file-none' }, 'training_file', /No such File/],
  'a validation file that there is not': [
    { validation_file: 'file-none' },
    'validation_file',
    /No such File/,
  ],
  'rows of another method': [{ method: { type: 'dpo' } }, 'training_file', /"chosen"/],
  'a validation file that is the training file': [{ validation_file: 'SAME' }, 'validation_file', /itself/],
  'reinforcement without a grader': [
    { method: { type: 'reinforcement' } },
    'method.reinforcement',
    /with a grader/,
  ],
  'a grader that is wrong': [
    { method: { type: 'reinforcement', reinforcement: { grader: { ...grader, operation: 'is' } } } },
    'method.reinforcement.grader.operation',
    /eq/,
  ],
  'more compute': [
    reinforced({ compute_multiplier: 2 }),
    'method.reinforcement.hyperparameters.compute_multiplier',
    /"auto" or 1/,
  ],
  'samples of an evaluation': [
    reinforced({ eval_samples: 3 }),
    'method.reinforcement.hyperparameters.eval_samples',
    /"auto"/,
  ],
  'an effort of reasoning': [
    reinforced({ reasoning_effort: 'high' }),
    'method.reinforcement.hyperparameters.reasoning_effort',
    /"default"/,
  ],
  'evaluations without rows': [
    reinforced({ eval_interval: 3 }),
    'method.reinforcement.hyperparameters.eval_interval',
    /validation_file/,
  ],
  'a format of answers without its schema': [
    reinforced({}, { response_format: { type: 'json_schema' } }),
    'method.reinforcement.response_format.json_schema',
    /json_schema/,
  ],
  'another format of answers': [
    reinforced({}, { response_format: { type: 'json_object' } }),
    'method.reinforcement.response_format.type',
    /json_schema/,
  ],
  'rows that are no prompts': [reinforced({}), 'training_file', /"prompt"/],
  'a method with the settings of another': [
    { method: { type: 'supervised', dpo: { hyperparameters: {} } } },
    'method.type',
    /own name/,
  ],
  'an unknown field': [{ n_epochs: 3 }, 'n_epochs', /Unknown field "n_epochs"/],
  'an unknown hyperparameter': [
    hyper({ prompt_loss_weight: 0.1 }),
    'hyperparameters.prompt_loss_weight',
    /Unknown/,
  ],
  'an unknown hyperparameter of the method': [
    method('supervised', { beta: 0.1 }),
    'method.supervised.hyperparameters.beta',
    /Unknown/,
  ],
  'a beta of nothing': [method('dpo', { beta: 0 }), 'method.dpo.hyperparameters.beta', /greater than 0/],
  'no epochs': [hyper({ n_epochs: 0 }), 'hyperparameters.n_epochs', /greater than 0/],
  'too many epochs': [hyper({ n_epochs: 1001 }), 'hyperparameters.n_epochs', /at most 1000/],
  'half a row': [hyper({ batch_size: 1.5 }), 'hyperparameters.batch_size', /whole/],
  'a batch of nothing': [hyper({ batch_size: 0 }), 'hyperparameters.batch_size', /at least 1/],
  'a word that is not auto': [hyper({ n_epochs: 'many' }), 'hyperparameters.n_epochs', /"auto" or a number/],
  'a rate of nothing': [
    hyper({ learning_rate_multiplier: 0 }),
    'hyperparameters.learning_rate_multiplier',
    /greater than 0/,
  ],
  'a rate beyond its bound': [
    method('supervised', { learning_rate_multiplier: 1e6 }),
    'method.supervised.hyperparameters.learning_rate_multiplier',
    /at most 5000/,
  ],
  'hyperparameters in two places': [
    { ...hyper({ n_epochs: 1 }), ...method('supervised', { n_epochs: 2 }) },
    'hyperparameters',
    /alone/,
  ],
  'too long a suffix': [{ suffix: 'x'.repeat(65) }, 'suffix', /64/],
  'a seed below zero': [{ seed: -1 }, 'seed', /at least 0/],
  'too many pairs of metadata': [{ metadata: pairs(17) }, 'metadata', /16/],
  'too long a key': [{ metadata: { ['k'.repeat(65)]: 'v' } }, `metadata.${'k'.repeat(65)}`, /64/],
  'too long a value': [{ metadata: { k: 'v'.repeat(513) } }, 'metadata.k', /512/],
  'metadata that is no text': [{ metadata: { k: 1 } }, 'metadata.k', /string/],
  'another tracker': [{ integrations: [{ type: 'clearml' }] }, 'integrations.0.type', /must be "wandb"/],
  'a field of a tracker that cannot be kept': [
    { integrations: [{ type: 'wandb', wandb: { project: 'p', entity: 'e' } }] },
    'integrations.0.wandb.entity',
    /./,
  ],
  'a project of a strange name': [
    { integrations: [{ type: 'wandb', wandb: { project: '../p' } }] },
    'integrations.0.wandb.project',
    /letters, digits/,
  ],
};

for (const [name, [changes, param, message]] of Object.entries(refusals)) {
  unchanged(`${name} is refused by name`, async () => {
    const body = { model, training_file: file, ...changes };
    if (body.validation_file === 'SAME') body.validation_file = file;
    const answer = await service.call('POST', path, body);
    description.check('POST', path, answer);
    const { error } = answer.body;
    assert.equal(
      [answer.status, error.type, error.param],
      [400, 'invalid_request_error', param],
      error.message,
    );
    assert.match(error.message, message);
  });
}

unchanged('all errors of a request are told at once', async () => {
  const answer = await service.call('POST', path, {
    training_file: 7,
    suffix: 'x'.repeat(65),
    colour: 'red',
  });
  for (const word of [/"model" is required/, /training_file/, /64 characters/, /colour/])
    assert.match(answer.body.error.message, word);
});

unchanged('unknown jobs, and cursors that name none', async () => {
  for (const id of ['ftjob-999', 'ftjob-', 'ftjob-x', 'train_1', 'ftjob-99999999999999999999', '%00']) {
    for (const [verb, end] of [
      ...[
        ['GET', ''],
        ['GET', '/events'],
        ['POST', '/cancel'],
        ['POST', '/pause'],
        ['POST', '/resume'],
      ],
    ] as const) {
      const answer = await service.call(verb, `${path}/${id}${end}`);
      description.check(verb, `${path}/${id}${end}`, answer);
      assert.equal([answer.status, answer.body.error.code], [404, 'fine_tune_not_found'], `${id}${end}`);
    }
  }
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'after=nothing', 'metadata=some']) {
    const answer = await service.call('GET', `${path}?${query}`);
    description.check('GET', path, answer);
    assert.equal([answer.status, answer.body.error.param], [400, query.split('=')[0]]);
  }
  assert.equal((await service.call('GET', `${path}?after=ftjob-1&metadata[a]=b`)).body.data, []);
});

test.run();
