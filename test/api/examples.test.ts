/** Every response that the OpenAPI document describes has an example, and each is as its schema says. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Json } from '../client.ts';
import { endAll, type InsideService, openInside } from '../inside-service.ts';
import { readDescription } from './description.ts';

let service: InsideService;
/** What has an answer that no text can show. */
const binary = 'application/octet-stream';

test.before(async () => {
  service = await openInside();
});
test.after(endAll);

test('every response has an example, which its schema allows', async () => {
  const { operations } = await readDescription(service);
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  let checked = 0;
  for (const { method, path, description } of operations) {
    for (const [status, response] of Object.entries<Json>(description.responses)) {
      const where = `${method} ${path} ${status}`;
      assert.ok(response.description, where);
      assert.ok(response.content, `${where} says what its body is`);
      for (const [type, { schema, example, examples }] of Object.entries<Json>(response.content)) {
        if (type === binary || type === 'text/event-stream') continue;
        const found =
          examples === undefined ? [example] : Object.values<Json>(examples).map(({ value }) => value);
        for (const one of found) {
          assert.ok(one !== undefined, `${where} has an example of ${type}`);
          if (schema === undefined) assert.type(one, 'string', where);
          else assert.ok(ajv.validate(schema, one), `${where}: ${ajv.errorsText(ajv.errors)}`);
          checked += 1;
        }
      }
    }
    if (description.requestBody === undefined) continue;
    for (const [type, { schema, example }] of Object.entries<Json>(description.requestBody.content)) {
      if (type === 'multipart/form-data') continue;
      assert.ok(ajv.validate(schema, example), `${method} ${path} body: ${ajv.errorsText(ajv.errors)}`);
    }
  }
  assert.ok(checked > 200, `${checked}`);
});

test('an example of a list of models differs by the kind of id', async () => {
  const { find } = await readDescription(service);
  const operation: Json = find('GET', '/api/models/{model_id}');
  const { examples } = operation.description.responses[200].content['application/json'];
  assert.type(examples.string_id.value.model_id, 'string');
  assert.type(examples.integer_id.value.id, 'number');
});

test.run();
