import type { Ask } from '../api/generate.ts';

/** The request that the playground sends, to run it from elsewhere. */

const shellQuote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function bodyOf(ask: Ask): Record<string, unknown> {
  return {
    model_id: ask.modelId,
    prompt: ask.messages.at(-1)?.content ?? '',
    max_length: ask.maxTokens,
    temperature: ask.temperature,
    top_p: ask.topP,
  };
}

export function asCurl(ask: Ask, origin: string): string {
  return `curl -s ${origin}/api/playground/new -H 'content-type: application/json' -d ${shellQuote(JSON.stringify(bodyOf(ask)))}`;
}

export function asPython(ask: Ask, origin: string): string {
  return [
    'import json, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(`${origin}/api/playground/new`)},`,
    `    json.dumps(${JSON.stringify(bodyOf(ask), null, 4).replaceAll('\n', '\n    ')}).encode(),`,
    '    {"content-type": "application/json"},',
    ')',
    'print(json.load(urllib.request.urlopen(request))["generated_text"])',
    '',
  ].join('\n');
}
