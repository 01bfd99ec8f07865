import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Route } from '../../src/http/route.ts';
import { areaOf, createRouter } from '../../src/http/router.ts';

const route = (path: string, access?: Route['access']) =>
  ({
    method: 'GET',
    path,
    tag: '',
    summary: '',
    responses: {},
    handle: () => '',
    ...(access && { access }),
  }) as Route;
const router = createRouter(
  [{ routes: [route('/api/free', 'free'), route('/api/full'), route('/v1/answers', 'inference')] }] as never,
  {} as never,
);
const area = (path: string, method = 'GET') => areaOf(router.find(method as 'GET', path) as never, path);

test('what is no route of the API needs a full key like most routes, and the page needs none', () => {
  assert.is(area('/api/free'), null);
  assert.is(area('/api/full'), 'full');
  assert.is(area('/v1/answers'), 'inference');
  assert.is(area('/api/nothing'), 'full');
  for (const path of ['/v1', '/ws/training', '/metrics']) assert.is(area(path), 'full', path);
  for (const path of ['/', '/models', '/apiary', '/metrics.html']) assert.is(area(path), null, path);
  // A method that the path does not have.
  assert.is(area('/api/free', 'DELETE'), 'full');
});

test.run();
