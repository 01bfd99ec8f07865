import type { Ask } from '../../api/generate.ts';

/** The playground's request as code, to run elsewhere. */

const shellQuote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Conversations use the chat endpoint, single prompts the playground endpoint. */
const isChat = ({ messages }: Ask) => messages.length > 1;
const pathOf = (ask: Ask) => (isChat(ask) ? '/v1/chat/completions' : '/api/playground/new');

function bodyOf(ask: Ask): Record<string, unknown> {
  if (isChat(ask)) {
    return {
      model: ask.modelId,
      messages: ask.messages,
      max_tokens: ask.maxTokens,
      temperature: ask.temperature,
      top_p: ask.topP,
    };
  }
  return {
    model_id: ask.modelId,
    prompt: ask.messages.at(-1)?.content ?? '',
    max_length: ask.maxTokens,
    temperature: ask.temperature,
    top_p: ask.topP,
  };
}

export function asCurl(ask: Ask, origin: string): string {
  return `curl -s ${origin}${pathOf(ask)} -H 'content-type: application/json' -d ${shellQuote(JSON.stringify(bodyOf(ask)))}`;
}

export function asPython(ask: Ask, origin: string): string {
  return [
    'import json, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(`${origin}${pathOf(ask)}`)},`,
    `    json.dumps(${JSON.stringify(bodyOf(ask), null, 4).replaceAll('\n', '\n    ')}).encode(),`,
    '    {"content-type": "application/json"},',
    ')',
    'answer = json.load(urllib.request.urlopen(request))',
    `print(answer${isChat(ask) ? '["choices"][0]["message"]["content"]' : '["generated_text"]'})`,
    '',
  ].join('\n');
}
