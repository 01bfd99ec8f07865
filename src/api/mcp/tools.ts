/** A JSON schema, or a part of an OpenAPI document. */
type Json = Record<string, unknown>;

/** A tool that is an operation of the API. */
interface ToolOperation {
  readonly name: string;
  readonly title: string;
  /** What an agent must know beside the operation's summary. */
  readonly hint?: string;
  readonly operation: `${'GET' | 'POST'} /${string}`;
  /** Of the body's fields, those that the tool has; all by default. */
  readonly fields?: readonly string[];
}

/** What an agent may do. None deletes anything, and none reads a file by its path. */
const operations: readonly ToolOperation[] = [
  { name: 'get_machine', title: 'Machine', operation: 'GET /api/hardware' },
  { name: 'list_datasets', title: 'Datasets', operation: 'GET /api/datasets' },
  { name: 'read_dataset', title: 'Rows of a dataset', operation: 'GET /api/datasets/{name}' },
  {
    name: 'add_rows',
    title: 'Add rows',
    hint: 'A row is {"input", "output"}, {"messages"}, {"text"}, {"prompt", "chosen", "rejected"} or {"context", "question", "answer"}. A training needs at least 10.',
    operation: 'POST /api/datasets/{name}/rows',
  },
  {
    name: 'analyse_dataset',
    title: 'Analyse a dataset',
    operation: 'POST /api/datasets/{name}/analysis',
  },
  {
    name: 'recommend_models',
    title: 'Recommended base models',
    operation: 'GET /api/recommendations',
  },
  { name: 'list_base_models', title: 'Base models here', operation: 'GET /api/base_models' },
  {
    name: 'estimate_training',
    title: 'Estimate',
    hint: 'Takes the fields of start_training. Ask it before a training starts.',
    operation: 'POST /api/estimate',
  },
  {
    name: 'start_training',
    title: 'Start training',
    hint: 'Leave settings out for the recommended values. Follow it with wait_for_run.',
    operation: 'POST /api/start_training',
  },
  { name: 'list_runs', title: 'Runs', operation: 'GET /api/jobs' },
  {
    name: 'get_run',
    title: 'Run',
    hint: 'Its verdict compares the tuned model with its base.',
    operation: 'GET /api/jobs/{job_id}',
  },
  {
    name: 'stop_run',
    title: 'Stop a run',
    operation: 'POST /api/jobs/{job_id}/stop',
    fields: [],
  },
  { name: 'resume_run', title: 'Resume a run', operation: 'POST /api/jobs/{job_id}/resume' },
  { name: 'list_models', title: 'Models', operation: 'GET /api/catalog' },
  {
    name: 'ask_model',
    title: 'Ask a model',
    hint: 'Use the name of a model of list_models, or base:NAME for a base model.',
    operation: 'POST /v1/chat/completions',
    fields: ['model', 'messages', 'temperature', 'max_tokens', 'seed', 'response_format'],
  },
  {
    name: 'evaluate_model',
    title: 'Evaluate',
    hint: 'To compare models, evaluate each on the same dataset. Graders by name score the answers, too.',
    operation: 'POST /api/evaluations',
  },
  {
    name: 'compare_evaluations',
    title: 'Compare evaluations',
    hint: 'Figures of those with the same rows_digest can be compared.',
    operation: 'GET /api/evaluations',
  },
  {
    name: 'get_evaluation',
    title: 'Evaluation',
    operation: 'GET /api/evaluations/{evaluation_id}',
  },
  { name: 'list_graders', title: 'Graders', operation: 'GET /api/graders' },
  {
    name: 'export_model',
    title: 'Export',
    operation: 'POST /api/models/{model_id}/export',
  },
];

/** A tool of MCP, and how its arguments become a request. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object' } & Json;
  readonly annotations: { readonly readOnlyHint: boolean; readonly destructiveHint: false };
  /** @returns what the service is asked. @throws Error for a field that the tool does not have, or if a part of the path is missing. */
  request(given: Json): { method: string; path: string; query: string; body: string | null };
}

/**
 * Makes the tools from the description of the API, which states each field once.
 * @param openApi the OpenAPI document of the service.
 */
export const toolsOf = (openApi: Json): Tool[] => operations.map((tool) => toolOf(openApi, tool));

function toolOf(openApi: Json, { name, title, hint, operation, fields }: ToolOperation): Tool {
  const [method, path] = operation.split(' ') as [string, string];
  const described = (openApi.paths as Record<string, Record<string, Json>>)[path]?.[method.toLowerCase()];
  if (described === undefined) throw new Error(`There is no operation ${operation}`);
  const parameters = described.parameters as { name: string; in: string; required: boolean; schema: Json }[];
  const content = (described.requestBody as { content?: Record<string, { schema: Json }> })?.content;
  const { properties = {}, required = [] } = (content?.['application/json']?.schema ?? {}) as {
    properties?: Json;
    required?: string[];
  };
  const isOffered = (field: string) => fields?.includes(field) ?? true;
  const inBody = Object.entries(properties).filter(([field]) => isOffered(field));
  const inQuery = parameters
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) => parameter.name);
  const offered = Object.fromEntries([
    ...parameters.map((parameter) => [parameter.name, parameter.schema]),
    ...inBody,
  ]);
  return {
    name,
    title,
    description: `${described.summary}.${hint === undefined ? '' : ` ${hint}`}`,
    inputSchema: {
      type: 'object',
      properties: offered,
      required: [
        ...parameters.filter((parameter) => parameter.required).map((parameter) => parameter.name),
        ...required.filter(isOffered),
      ],
    },
    annotations: { readOnlyHint: method === 'GET', destructiveHint: false },
    request(given) {
      // The operation may have fields that the tool must not have.
      const unknown = Object.keys(given).find((field) => !Object.hasOwn(offered, field));
      if (unknown !== undefined) throw new Error(`The tool ${name} has no field "${unknown}".`);
      const filled = path.replace(/\{(\w+)\}/g, (_, parameter: string) => {
        const value = given[parameter];
        if (typeof value !== 'string' || value === '') throw new Error(`"${parameter}" is missing.`);
        return encodeURIComponent(value);
      });
      const asked = inQuery.filter((parameter) => given[parameter] !== undefined);
      const query = new URLSearchParams(asked.map((parameter) => [parameter, String(given[parameter])]));
      const known = new Set(parameters.map((parameter) => parameter.name));
      const body = Object.entries(given).filter(([field]) => !known.has(field));
      return {
        method,
        path: filled,
        query: query.toString(),
        body: content === undefined ? null : JSON.stringify(Object.fromEntries(body)),
      };
    },
  };
}
