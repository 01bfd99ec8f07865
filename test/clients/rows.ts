/** Rows that teach a model to call tools: those of the clients' examples, with other questions than theirs. */

const cities = [
  ...['Lima', 'San Diego', 'Cairo', 'New York', 'Vienna', 'Buenos Aires', 'Quito', 'Cape Town', 'Oslo'],
  ...['San Antonio', 'Madrid', 'Santa Fe', 'Bern'],
];
const games: readonly (readonly [year: number, city: string, country: string])[] = [
  ...([
    [2016, 'Rio de Janeiro', 'Brazil'],
    [2008, 'Beijing', 'China'],
    [2004, 'Athens', 'Greece'],
    [2000, 'Sydney', 'Australia'],
  ] as const),
  ...([
    [1992, 'Barcelona', 'Spain'],
    [1980, 'Moscow', 'Russia'],
    [1948, 'London', 'United Kingdom'],
    [1976, 'Montreal', 'Canada'],
    [1964, 'Tokyo', 'Japan'],
  ] as const),
];
const names = ['Maria', 'Ben', 'Aisha', 'Tom', 'Yuki', 'Carlos', 'Nina', 'Omar', 'Lucy', 'Peter'];
const signs = [
  'Aries',
  'Taurus',
  'Gemini',
  'Cancer',
  'Leo',
  'Virgo',
  'Libra',
  'Scorpio',
  'Capricorn',
  'Pisces',
];
const surnames = ['Smith', 'Garcia', 'Khan', 'Rossi', 'Novak', 'Silva', 'Meyer', 'Lopez', 'Costa', 'Weber'];
const skies = ['sunny', 'cloudy', 'rainy', 'windy', 'foggy', 'snowy', 'hot', 'cold', 'clear', 'stormy'];

type Properties = Record<string, { type: string; description?: string }>;
const tool = (name: string, properties: Properties, description = name.replaceAll('_', ' ')) => ({
  type: 'function',
  function: {
    ...{ name, description },
    parameters: { type: 'object', properties, required: Object.keys(properties) },
  },
});
const text = { type: 'string' };
const whole = { type: 'integer' };

type Message = Record<string, unknown>;
const user = (content: string): Message => ({ role: 'user', content });
const say = (content: string): Message => ({ role: 'assistant', content });
/** An answer of calls, each a name with its arguments. */
const call = (...calls: [name: string, given: object][]): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: calls.map(([name, given], at) => ({
    ...{ id: `call_${at}`, type: 'function' },
    function: { name, arguments: JSON.stringify(given) },
  })),
});
const result = (content: string, at = 0): Message => ({ role: 'tool', tool_call_id: `call_${at}`, content });

const pick = (list: readonly string[], at: number): string => list[at % list.length] as string;

const agentTools = [
  tool(
    'get_weather',
    { location: { ...text, description: 'the location' } },
    'Get weather in the next days at given location.',
  ),
  tool('final_answer', { answer: text }, 'Provides a final answer to the given problem.'),
];
const agentTask = (at: number, agentPrompt: string): Message[] => {
  const location = pick(cities, at + 1);
  return [
    { role: 'system', content: agentPrompt },
    user(`New task:\nWhat's the weather like in ${location}?`),
    call(['get_weather', { location }]),
  ];
};

/** A conversation of each kind with the values of `at`. */
const kinds: ((at: number, agentPrompt: string) => { tools: unknown[]; messages: Message[] })[] = [
  (at) => {
    const [sign, name] = [pick(signs, at), pick(names, at + 3)];
    const told = `${sign}: Today ${name} will bring you good news.`;
    return {
      tools: [tool('get_horoscope', { sign: text }, "Get today's horoscope for an astrological sign.")],
      messages: [
        user(`What is my horoscope? I am ${/^[AEIOU]/.test(sign) ? 'an' : 'a'} ${sign}.`),
        ...[call(['get_horoscope', { sign }]), result(told), say(told)],
      ],
    };
  },
  (at) => {
    const [city, sky] = [pick(cities, at), pick(skies, at * 3)];
    const told = `The weather in ${city} is ${sky}.`;
    return {
      tools: [tool('get_weather', { city: text }, 'Returns weather info for the specified city.')],
      messages: [
        ...[{ role: 'system', content: 'You are a helpful agent.' }, user(`What's the weather in ${city}?`)],
        ...[call(['get_weather', { city }]), result(told), say(told)],
      ],
    };
  },
  (at) => {
    const [a, b, c, d] = [2 + (at % 8), 11 + at, 10 + 3 * at, 41 + 2 * at];
    return {
      tools: [
        tool('add', { a: whole, b: whole }, 'Adds a and b.'),
        tool('multiply', { a: whole, b: whole }, 'Multiplies a and b.'),
      ],
      messages: [
        user(`What is ${a} * ${b}? Also, what is ${c} + ${d}?`),
        call(['multiply', { a, b }], ['add', { a: c, b: d }]),
        ...[result(`${a * b}`), result(`${c + d}`, 1)],
        say(`${a} * ${b} is ${a * b}, and ${c} + ${d} is ${c + d}.`),
      ],
    };
  },
  (at) => {
    const [year, city, country] = games[at % games.length] as (typeof games)[number];
    const about = 'The final response which ends this conversation';
    return {
      tools: [tool('final_result', { city: text, country: text }, about)],
      messages: [user(`Where were the olympics held in ${year}?`), call(['final_result', { city, country }])],
    };
  },
  (at) => {
    const [name, age] = [`${pick(names, at)} ${pick(surnames, at * 7 + Math.floor(at / 10))}`, 19 + 2 * at];
    // With the titles of pydantic, which a model that never saw one takes for the values.
    const properties = { name: { title: 'Name', ...text }, age: { title: 'Age', ...whole } };
    const about = 'Correctly extracted `UserInfo` with all the required parameters with correct types';
    const parameters = { properties, required: ['age', 'name'], type: 'object' };
    return {
      tools: [{ type: 'function', function: { name: 'UserInfo', description: about, parameters } }],
      messages: [user(`${name} is ${age} years old.`), call(['UserInfo', { name, age }])],
    };
  },
  (at, agentPrompt) => ({ tools: agentTools, messages: agentTask(at, agentPrompt).slice(0, 3) }),
  (at, agentPrompt) => {
    const [system, task, called] = agentTask(at, agentPrompt) as [Message, Message, Message];
    const [location, sky] = [
      pick(cities, at + 1),
      `The weather is ${pick(skies, at * 7)} with winds from the sea`,
    ];
    // It tells the model of its calls in texts.
    const earlier = { ...say(`Calling tools:\n${JSON.stringify(called.tool_calls)}`), weight: 0 };
    const answered = call(['final_answer', { answer: `${location}: ${sky}` }]);
    return { tools: agentTools, messages: [system, task, earlier, user(`Observation:\n${sky}`), answered] };
  },
  (at) => {
    const [location, temperature] = [pick(cities, at + 2), 21 + 3 * at];
    return {
      tools: [tool('getCurrentLocation', {}), tool('getWeather', { location: text })],
      messages: [
        ...[user('How is the weather this week?'), call(['getCurrentLocation', {}]), result(location)],
        ...[call(['getWeather', { location }]), result(JSON.stringify({ temperature }))],
        say(`The temperature in ${location} is ${temperature} degrees this week.`),
      ],
    };
  },
  (at) => {
    const [location, temperature] = [pick(cities, at + 4), 30 + 2 * at];
    return {
      tools: [tool('weather', { location: text }, 'Get the weather in a location')],
      messages: [
        ...[user(`What is the weather in ${location}?`), call(['weather', { location }])],
        result(JSON.stringify({ location, temperature })),
        say(`The temperature in ${location} is ${temperature} degrees.`),
      ],
    };
  },
];

/** As JSONL: so many of each kind. @param agentPrompt the system message of smolagents */
export const toolRows = (ofEach: number, agentPrompt: string): string =>
  Array.from({ length: ofEach }, (_, at) => kinds.map((kind) => `${JSON.stringify(kind(at, agentPrompt))}\n`))
    .flat()
    .join('');
