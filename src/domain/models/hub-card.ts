import { win32 } from 'node:path';
import { chosenText } from '../../contract/models/chosen-text.ts';
import { importanceText } from '../../contract/models/importance-text.ts';
import type { Parent } from '../job-record/job.ts';
import { codeBlock, codeSpan, plainLines, quoted } from './hub-card-text.ts';
import { parentIn, withoutParent } from './merged-base.ts';
import type { Model } from './models.ts';

/** The facts in a model card besides the model. */
export interface CardFacts {
  readonly model: Model;
  /** `owner/name` on the hub. */
  readonly repository: string;
  /** The base model's hub ID, or `null` for a local folder, of which only the name is published. */
  readonly baseId: string | null;
  readonly baseName: string;
  /** The base model's license, as the hub names it, or `null`. */
  readonly license: string | null;
  /** PEFT's task type, such as `CAUSAL_LM`, or `null`. */
  readonly taskType: string | null;
  /** The class of a model all of whose weights were trained; that which an adapter fits, if it is of the text part of the base; or `null`. */
  readonly baseClass: string | null;
  /** Names of the GGUF files in the repository, best first. */
  readonly ggufs: readonly string[];
  readonly hasModelfile: boolean;
  /** The name of the file of the base's vision and audio encoders, or `null`. */
  readonly vision: string | null;
  /** Whether the repository is on the public hub, which Ollama and llama.cpp load from by name. */
  readonly onPublicHub: boolean;
}

/** What was done with the model that it goes on from. */
const ways: Readonly<Record<Parent['how'], string>> = {
  adapter: 'whose adapter was trained on',
  merged: 'whose adapter was merged into the base first',
  whole: 'whose weights were the base',
};

/** The hub's names of the tasks (its list of pipelines). */
const pipelines: Readonly<Record<string, string>> = {
  'text-generation': 'text-generation',
  summarization: 'summarization',
  'extractive-question-answering': 'question-answering',
};

/** PEFT's class that loads an adapter with its base, for each of its task types. */
const peftClasses: Readonly<Record<string, readonly [peft: string, base: string]>> = {
  CAUSAL_LM: ['AutoPeftModelForCausalLM', 'AutoModelForCausalLM'],
  SEQ_2_SEQ_LM: ['AutoPeftModelForSeq2SeqLM', 'AutoModelForSeq2SeqLM'],
  QUESTION_ANS: ['AutoPeftModelForQuestionAnswering', 'AutoModelForQuestionAnswering'],
};

/** PEFT's task type of a model's class. */
const typeOfClass = (name: string): string =>
  name.endsWith('ForQuestionAnswering')
    ? 'QUESTION_ANS'
    : name.endsWith('ForConditionalGeneration')
      ? 'SEQ_2_SEQ_LM'
      : 'CAUSAL_LM';

/**
 * The model card: YAML for the hub's index, then what the model is, how it was trained and how to run it.
 * User-supplied names are escaped, so that they cannot end the YAML or become markup.
 */
export function writeCard(facts: CardFacts): string {
  const { model } = facts;
  const parent = parentIn(model.config);
  const sections = [
    `# ${codeSpan(facts.repository)}`,
    codeSpan(model.displayName),
    ...(model.notes.trim() === '' ? [] : [codeBlock('text', plainLines(model.notes))]),
    [
      `A model for ${model.task}, fine-tuned from ${facts.baseId === null ? `${codeSpan(facts.baseName)} (a local model)` : `[${codeSpan(facts.baseId)}](https://huggingface.co/${facts.baseId})`}`,
      `on the dataset ${codeSpan(model.datasetName)} with [Hone](#use-it), by the strategy ${codeSpan(model.strategy)}`,
      `and the provider ${codeSpan(model.provider)}. Trained on ${model.createdAt.slice(0, 10)}.`,
      ...(parent === null
        ? []
        : [
            `It goes on from ${codeSpan(parent.step === null ? parent.name : `step ${parent.step} of ${parent.name}`)}, ${ways[parent.how]}.`,
          ]),
      ...(model.export.chosen == null
        ? []
        : [
            `The files have ${chosenText(model.export.chosen)}; the metrics are those of the end of the training.`,
          ]),
    ].join('\n'),
    files(facts),
    '## Training settings',
    table('Setting', withoutFolders(withoutParent(model.config))),
    '## Metrics',
    table('Metric', model.metrics, 'No metrics were recorded.'),
    '## Verification of the merged file',
    table(
      'Check',
      figuresOf(model.verification ?? {}),
      'The model was trained without an export, so there is no merged file.',
    ),
    '## Use it',
    ...usage(facts),
  ];
  return `${frontMatter(facts)}\n${sections.join('\n\n')}\n`;
}

function frontMatter({ model, baseId, license, ggufs }: CardFacts): string {
  const isWhole = model.config.adapter === 'full';
  const tags = [
    'hone',
    ...(isWhole ? [] : ['lora']),
    ...(ggufs.length > 0 ? ['gguf'] : []),
    model.strategy,
    model.task,
    ...model.tags,
  ];
  const lines = [
    '---',
    ...(baseId === null
      ? []
      : [
          `base_model: ${quoted(baseId)}`,
          `base_model_relation: ${quoted(isWhole ? 'finetune' : 'adapter')}`,
        ]),
    ...(license === null ? [] : [`license: ${quoted(license)}`]),
    `library_name: ${quoted(isWhole ? 'transformers' : 'peft')}`,
    `pipeline_tag: ${quoted(pipelines[model.task] ?? 'text-generation')}`,
    'tags:',
    ...[...new Set(tags)].map((tag) => `  - ${quoted(tag)}`),
    '---',
  ];
  return `${lines.join('\n')}\n`;
}

/** The verification results without example rows, because a card may be public. */
function figuresOf({ tokens_differ: _, ...figures }: Readonly<Record<string, unknown>>) {
  return figures;
}

function files({ model, ggufs, vision, hasModelfile }: CardFacts): string {
  const isWhole = model.config.adapter === 'full';
  return [
    '| File | What it is |',
    '|---|---|',
    isWhole
      ? '| `model.safetensors`, `config.json` | the model, all of whose weights were trained, with its tokenizer |'
      : '| `adapter_model.safetensors`, `adapter_config.json` | the LoRA adapter, with its tokenizer |',
    ...ggufs.map((name) => {
      const what = `${isWhole ? 'the model in' : 'base and adapter merged into'} one file, for llama.cpp`;
      return `| ${codeSpan(name)} | ${[what, importanceOf(model, name)].filter(Boolean).join('; ')} |`;
    }),
    ...(vision === null
      ? []
      : [
          `| ${codeSpan(vision)} | the base's vision and audio encoders, for llama.cpp's \`--mmproj\`; not trained |`,
        ]),
    ...(hasModelfile ? ['| `Modelfile` | with which Ollama runs the merged file as it was trained |'] : []),
  ].join('\n');
}

/** The type in the name of a GGUF file. */
const typeIn = (name: string): string | undefined => /-([A-Za-z0-9_]+)\.gguf$/.exec(name)?.[1];

/** How the GGUF file of this name was quantized, if by an importance matrix. */
const importanceOf = ({ export: made }: Model, name: string): string =>
  importanceText(made.files.find(({ quantization }) => quantization === typeIn(name)) ?? {});

/** Names and values as a table, without empty values. */
/** Settings of which those that name a folder of this machine have its name alone. */
const withoutFolders = (config: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(config).map(([name, value]) => [
      name,
      typeof value === 'string' && win32.isAbsolute(value) ? win32.basename(value) : value,
    ]),
  );

function table(heading: string, values: Readonly<Record<string, unknown>>, otherwise = ''): string {
  const rows = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  if (rows.length === 0) return otherwise;
  const cell = (value: unknown) =>
    codeSpan(
      Array.isArray(value)
        ? value.join(', ')
        : typeof value === 'object'
          ? JSON.stringify(value)
          : String(value),
    );
  return [
    `| ${heading} | Value |`,
    '|---|---|',
    ...rows.map(([name, value]) => `| ${codeSpan(name)} | ${cell(value)} |`),
  ].join('\n');
}

const examples: Readonly<Record<string, string>> = {
  'text-generation': 'Hello!',
  summarization: 'The text to summarize.',
  'extractive-question-answering': 'The context.\n\nThe question?',
};

function usage(facts: CardFacts): string[] {
  const { model, repository, ggufs } = facts;
  const prompt = examples[model.task] ?? 'Hello!';
  const name = repository.split('/')[1] as string;
  const gguf = ggufs[0];
  const download = `hf download ${repository} --local-dir ${name}`;
  const quantization = gguf === undefined ? null : typeIn(gguf);
  const body = quoted({ model: model.name, messages: [{ role: 'user', content: prompt }] });
  const hone = [
    '### Hone',
    'Where it was trained, the model answers by its name:',
    codeBlock(
      'sh',
      `curl http://localhost:8000/v1/chat/completions -H 'content-type: application/json' \\\n  -d '${body.replaceAll("'", "'\\''")}'`,
    ),
  ];
  const engines =
    gguf === undefined
      ? []
      : [
          '### llama.cpp',
          codeBlock(
            'sh',
            facts.onPublicHub && quantization
              ? `llama-cli -hf ${repository}:${quantization} -cnv`
              : `${download}\nllama-cli -m ${name}/${gguf} -cnv`,
          ),
          '### Ollama',
          codeBlock(
            'sh',
            `${download}\ncd ${name}\nollama create ${name.toLowerCase()} -f Modelfile\nollama run ${name.toLowerCase()}`,
          ),
        ];
  return [
    ...(gguf === undefined ? [] : hone),
    ...(facts.hasModelfile ? engines : engines.slice(0, 2)),
    facts.model.config.adapter === 'full' ? '### transformers' : '### transformers and PEFT',
    codeBlock('python', python(facts, prompt)),
  ];
}

/**
 * The names of a text part's tensors in the files of the whole model, as regular expressions, and those in its class
 * (trainer/model/text_part.py).
 */
const textNames =
  '{r"^(?:model\\.)?(?:language_model|text_model)\\.(?:model\\.)?": "model.", r"^model\\.lm_head\\.": "lm_head."}';

function python(facts: CardFacts, prompt: string): string {
  const { model, repository, baseId, baseName, baseClass } = facts;
  const isWhole = model.config.adapter === 'full' && baseClass !== null;
  const taskType = isWhole ? typeOfClass(baseClass) : (facts.taskType ?? '');
  const [peft, base] = peftClasses[taskType] ?? (peftClasses.CAUSAL_LM as readonly [string, string]);
  const isPart = baseClass !== null && !baseClass.endsWith('ForConditionalGeneration');
  const path = quoted(baseId ?? `path/to/${baseName}`);
  const load = isWhole
    ? [
        `from transformers import AutoTokenizer, ${baseClass}`,
        '',
        `model = ${baseClass}.from_pretrained(${quoted(repository)})`,
      ]
    : baseClass !== null
      ? [
          `from peft import PeftModel`,
          `from transformers import ${isPart ? 'AutoConfig, ' : ''}AutoTokenizer, ${baseClass}`,
          '',
          ...(isPart
            ? [
                `config = AutoConfig.from_pretrained(${path}).get_text_config()`,
                `names = ${textNames}`,
                `base = ${baseClass}.from_pretrained(${path}, config=config, key_mapping=names)`,
              ]
            : [`base = ${baseClass}.from_pretrained(${path})`]),
          `model = PeftModel.from_pretrained(base, ${quoted(repository)})`,
        ]
      : baseId === null
        ? [
            `from peft import PeftModel`,
            `from transformers import ${base}, AutoTokenizer`,
            '',
            `base = ${base}.from_pretrained(${quoted(`path/to/${baseName}`)})`,
            // PEFT's own class for both, below, does so by itself.
            ...(model.config.new_tokens == null
              ? []
              : [
                  `size = len(AutoTokenizer.from_pretrained(${quoted(repository)}))`,
                  'base.resize_token_embeddings(max(size, base.get_input_embeddings().weight.shape[0]))',
                ]),
            `model = PeftModel.from_pretrained(base, ${quoted(repository)})`,
          ]
        : [
            `from peft import ${peft}`,
            `from transformers import AutoTokenizer`,
            '',
            `model = ${peft}.from_pretrained(${quoted(repository)})`,
          ];
  const answer =
    base === 'AutoModelForCausalLM'
      ? [
          `messages = [{"role": "user", "content": ${quoted(prompt)}}]`,
          'inputs = tokenizer.apply_chat_template(',
          '    messages, add_generation_prompt=True, return_tensors="pt", return_dict=True',
          ')',
          'output = model.generate(**inputs, max_new_tokens=100)',
          'print(tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))',
        ]
      : base === 'AutoModelForSeq2SeqLM'
        ? [
            `inputs = tokenizer(${quoted(prompt)}, return_tensors="pt")`,
            'output = model.generate(**inputs, max_new_tokens=100)',
            'print(tokenizer.decode(output[0], skip_special_tokens=True))',
          ]
        : [
            'inputs = tokenizer("The question?", "The context.", return_tensors="pt")',
            'output = model(**inputs)',
            'start, end = output.start_logits.argmax(), output.end_logits.argmax()',
            'print(tokenizer.decode(inputs["input_ids"][0, start : end + 1]))',
          ];
  return [...load, `tokenizer = AutoTokenizer.from_pretrained(${quoted(repository)})`, ...answer].join('\n');
}
