/** Which paths of this machine clients on other machines may name with a key, and are told, on both engines. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { type Json, temporaryFolder } from '../service.ts';
import { bearer, type Origin, testAccess } from './access.ts';

testAccess((test, fixture, origins) => {
  const { allowed, ask, keys } = fixture;
  const outside = temporaryFolder();
  const elsewhere = origins.filter((origin) => origin !== 'loopback');

  for (const origin of elsewhere) {
    test(`paths of this machine are refused, ${origin}`, async () => {
      const models = join(fixture.service.dataDir, 'model_checkpoints');
      mkdirSync(models, { recursive: true });
      mkdirSync(join(outside, 'model'), { recursive: true });
      const link = join(models, `link-${origin}`);
      symlinkSync(join(outside, 'model'), link);
      const sent = { headers: bearer(keys.right) };
      const validate = (selected_model: string, from: Origin = origin) =>
        ask(from, 'POST', '/api/finetune/validate_model', { ...sent, body: { selected_model } });
      for (const path of [
        join(outside, 'model'),
        link,
        join(outside, 'missing'),
        '/',
        '~/x',
        '../x',
        `${models}/../../../..`,
        `${fixture.service.dataDir}-2/x`,
      ]) {
        const { status, body } = await validate(path);
        assert.is(status, 403, `${path}: ${JSON.stringify(body)}`);
        assert.match(body.detail, '--allow-path');
        assert.is((await validate(path, 'loopback')).status, 400, path);
      }
      for (const path of [join(models, 'missing'), join(allowed, 'missing')]) {
        const { status, body } = await validate(path);
        assert.is(status, 400, path);
        assert.match(JSON.stringify(body.detail), 'does not exist');
      }
    });

    test(`an adapter is refused with a base that may not be named, ${origin}`, async () => {
      const named = async (name: string, base: string) => {
        const model = join(allowed, `${name}-${origin}`);
        mkdirSync(model, { recursive: true });
        const config = JSON.stringify({ base_model_name_or_path: base });
        writeFileSync(join(model, 'adapter_config.json'), config);
        const body = { model, merge_adapter: true };
        return ask(origin, 'POST', '/api/base_models/check', { headers: bearer(keys.right), body });
      };
      assert.is((await named('outside', join(outside, 'model'))).status, 403);
      assert.is((await named('inside', join(allowed, 'model'))).status, 200);
      assert.is((await named('hub', 'owner/model')).status, 200);
    });

    test(`an error tells no path of this machine, ${origin}`, async () => {
      const path = join(fixture.service.dataDir, 'missing');
      const body = { selected_model: path };
      const { text } = await ask(origin, 'POST', '/api/finetune/validate_model', {
        headers: bearer(keys.right),
        body,
      });
      assert.not.match(text, fixture.service.dataDir);
      const same = await ask('loopback', 'POST', '/api/finetune/validate_model', { body });
      assert.match(same.text, fixture.service.dataDir);
      const info = await ask(origin, 'GET', '/api/info', { headers: bearer(keys.right) });
      assert.is(JSON.parse(info.text).data_dir, null);
      assert.is(
        JSON.parse((await ask('loopback', 'GET', '/api/info')).text).data_dir,
        fixture.service.dataDir,
      );
    });
  }

  test('every field that can name a path is checked', async () => {
    const file = join(outside, 'rows.jsonl');
    writeFileSync(file, '');
    const pathLike = /model|data|path|folder|repo|(?<!pro)file/;
    /** They name a stored model, one of its quantizations, a tracker, a repository to push to, or text to search for. */
    const harmless = new Set([
      ...[
        'model',
        'model_id',
        'model_deleted',
        'dataset_id',
        'training_file',
        'validation_file',
        'metadata',
        'files',
        'use_chat_template',
        'target_modules',
        'report_to',
      ],
      'POST /api/hub/push repo_name',
      'POST /api/models/{model_id}/push repo_name',
      'GET /api/models/{model_id}/card repo_name',
      'POST /v1/chat/completions file',
      'POST /v1/completions file',
      'POST /v1/responses file',
      // An answer.
      'POST /v1/fine_tuning/alpha/graders/run model_sample',
      // The kind of an eval's rows, and the rows.
      'POST /v1/evals data_source_config',
      'POST /v1/evals/{eval_id}/runs data_source',
      // Of a dataset's new name, only the last part is kept.
      'PATCH /api/datasets/{name} filename',
      'POST /api/datasets/{name}/copies filename',
      // The name of a stored dataset alone.
      'POST /api/datasets/{name}/answers validation_dataset',
      'POST /api/traffic/rows validation_dataset',
      'POST /api/document_rows dataset',
      'POST /api/document_rows/estimate dataset',
      'GET /api/jobs model_name',
      'GET /api/jobs dataset',
      'GET /api/catalog base_model',
      'GET /api/catalog dataset',
    ]);
    let checked = 0;
    for (const [path, methods] of Object.entries(fixture.document.paths as Json)) {
      for (const [method, operation] of Object.entries(methods as Json) as [string, Json][]) {
        const properties = operation.requestBody?.content?.['application/json']?.schema?.properties ?? {};
        const query = (operation.parameters ?? []).filter((one: Json) => one.in === 'query');
        const name = `${method.toUpperCase()} ${path}`;
        const isHarmless = (field: string) => harmless.has(field) || harmless.has(`${name} ${field}`);
        for (const field of Object.keys(properties).filter((one) => pathLike.test(one) && !isHarmless(one))) {
          const got = await ask('forwarded', method.toUpperCase(), path.replace(/\{\w+\}/g, 'x'), {
            headers: bearer(keys.right),
            body: { [field]: file },
          });
          assert.is(got.status, 403, `${name} ${field}: ${got.text}`);
          checked += 1;
        }
        for (const { name: field } of query.filter(
          (one: Json) => pathLike.test(one.name) && !isHarmless(one.name),
        )) {
          const target = `${path.replace(/\{\w+\}/g, 'x')}?${new URLSearchParams({ [field]: file })}`;
          const got = await ask('forwarded', method.toUpperCase(), target, { headers: bearer(keys.right) });
          assert.is(got.status, 403, `${name} ${field}: ${got.text}`);
          checked += 1;
        }
      }
    }
    assert.ok(checked >= 14, `${checked} fields`);
  });
});
