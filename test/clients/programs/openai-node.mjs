/** `runTools`, as in the library's guide of helpers. */
import OpenAI from 'openai';

const client = new OpenAI();
const calls = [];
async function getCurrentLocation() {
  calls.push({});
  return 'Boston';
}
async function getWeather({ location }) {
  calls.push({ location });
  return { temperature: 50, precipitation: 'high' };
}
const runner = client.chat.completions.runTools({
  model: process.env.MODEL,
  messages: [{ role: 'user', content: 'How is the weather this week?' }],
  tools: [
    {
      type: 'function',
      function: { function: getCurrentLocation, parameters: { type: 'object', properties: {} } },
    },
    {
      type: 'function',
      function: {
        function: getWeather,
        parse: JSON.parse,
        parameters: { type: 'object', properties: { location: { type: 'string' } } },
      },
    },
  ],
});
const text = await runner.finalContent();
console.log(JSON.stringify({ calls, text }));
