import type { MeasuredServer } from './server.ts';

/** Sends a request with a JSON body to the service. @returns the parsed answer. @throws for any status but success. */
export async function callApi(
  server: Pick<MeasuredServer, 'url'>,
  method: string,
  path: string,
  body?: unknown,
  // biome-ignore lint/suspicious/noExplicitAny: answers are read field by field
): Promise<any> {
  const response = await fetch(server.url + path, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path} returned ${JSON.stringify(answer)}`);
  return answer;
}
