/** The example with a function of the library's documentation. */
import { Agent, run, tool } from '@openai/agents';
import { z } from 'zod';

const calls = [];
const getWeatherTool = tool({
  name: 'get_weather',
  description: 'Get the weather for a given city',
  parameters: z.object({ city: z.string() }),
  execute: async (input) => {
    calls.push(input);
    return `The weather in ${input.city} is sunny`;
  },
});
const agent = new Agent({
  name: 'Data agent',
  instructions: 'You are a data agent',
  model: process.env.MODEL,
  tools: [getWeatherTool],
});
const result = await run(agent, "What's the weather in Tokyo?");
console.log(JSON.stringify({ calls, text: result.finalOutput }));
