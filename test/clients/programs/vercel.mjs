/** `generateText` with a tool, as in the documentation of Vercel's library. */
import { openai } from '@ai-sdk/openai';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';

const calls = [];
const { text } = await generateText({
  model: openai(process.env.MODEL),
  tools: {
    weather: tool({
      description: 'Get the weather in a location',
      inputSchema: z.object({ location: z.string().describe('The location to get the weather for') }),
      execute: async ({ location }) => {
        calls.push({ location });
        return { location, temperature: 72 };
      },
    }),
  },
  stopWhen: stepCountIs(5),
  prompt: 'What is the weather in San Francisco?',
});
console.log(JSON.stringify({ calls, text }));
