const rouge = (what: string) =>
  `How much of ${what} the answer and the reference share, from 0 to 100% (Lin, 2004). Higher is better; a right answer in other words scores low.`;
const reward = (which: string) =>
  `How much more likely the model finds the ${which} answer than the base model does, scaled by beta. Training should raise chosen rewards above rejected ones.`;

const tokenRate =
  'Tokens of the rows that the trainer processes per second, without padding. It varies with the lengths of the rows and with what else the machine does.';
const trainerMemory =
  'Memory that the trainer takes: of the GPU if it trains on one, else of the machine. It grows with the batch size and the maximum sequence length.';
const evaluationLoss =
  'The loss on held-out rows that the model was not trained on. If it rises while the training loss falls, the model is overfitting.';
const step =
  'One update of the weights, from one effective batch of rows. An epoch has as many steps as it takes to see every row once.';

/** What figures, charts and types of files mean, by the name under which they are shown. */
const notes: Readonly<Record<string, string>> = {
  // Training
  'General text':
    'The same few sentences in every run, none of them yours. A loss that rises, or a KL divergence far above 0, means that the model forgets what its base knew.',
  Step: step,
  Steps: step,
  Epoch: 'One pass over all rows that are trained on. Small datasets usually need several.',
  Loss: 'How surprised the model is by the tokens that it should write (mean negative log-likelihood, in nats). Lower is better, and it should fall quickly at first and then level off.',
  'Final loss':
    'The training loss at the last step, of one batch of rows. It tells little about new rows: compare the evaluation loss for that.',
  'Evaluation loss': evaluationLoss,
  'Eval loss': evaluationLoss,
  Gain: 'How much lower the evaluation loss is than that of the base model on the same rows, in percent. Higher is better; zero means that the training taught nothing about new rows.',
  Score:
    'The mean scores by the graders of a run, on the same held-out rows as the evaluation loss. Higher is better; lists are ordered by the first grader.',
  'Learning rate':
    'How large each update of the weights is. It rises during warmup and then follows the scheduler.',
  'Gradient norm':
    'The length of the gradient before clipping. Steady values are healthy; sudden peaks suggest a learning rate that is too high or a faulty row.',
  'Tokens/s': tokenRate,
  'Tokens per second': tokenRate,
  Memory: trainerMemory,
  'Trainer memory': trainerMemory,
  'GPU utilization':
    'The share of time in which the GPU computed anything. Low values mean that it waits, for example for data or for small batches.',
  'GPU memory in use':
    'Memory of the GPU that all programs together use. What is not in use is left for larger batches or models.',
  'GPU power': 'What the GPU draws at the moment, in watts. Near its limit it is well used.',
  'Profile for this machine':
    'Which models and settings are recommended here, by the memory of its GPU and its RAM. Any of them can be changed in the form of a training.',
  'CPU utilization':
    'The share of all cores that is in use, by all programs. A training on the CPU uses nearly all of it.',
  'Mean token accuracy':
    'How often the likeliest token is the right one, over all tokens that are trained on. It is high for easy text, and need not reach 100%.',
  Entropy: 'How spread out the model’s predictions are, in nats. It falls as the model becomes sure.',
  'Chosen reward': reward('chosen'),
  'Rejected reward': reward('rejected'),
  'Reward margin':
    'The chosen reward less the rejected one. It should grow; its sign says which answer the model prefers.',
  'Reward accuracy': 'How often the chosen answer has the higher reward. 50% is chance.',
  'KL divergence':
    'How far the predictions of the trained model are from those of the base model, in nats. Large values mean that it has moved far and may have forgotten other skills.',
  'Effective batch size':
    'Rows per update of the weights: the batch size times the gradient accumulation steps. Larger values are steadier, with fewer steps per epoch.',
  'Validation rows': 'Rows that are held out to measure the model on. It is not trained on them.',
  // Evaluation
  Perplexity:
    'The exponential of the loss: among how many equally likely tokens the model would hesitate. Lower is better, and 1 is certainty.',
  'Exact match':
    'How many answers equal the reference, apart from case, punctuation and articles. Fits short answers, such as labels and dates.',
  F1: 'How many words the answer and the reference share: the harmonic mean of precision and recall (as for SQuAD). Higher is better.',
  'ROUGE-1': rouge('the words'),
  'ROUGE-2': rouge('the pairs of neighbouring words'),
  'ROUGE-L': rouge('the longest common sequence of words'),
  'Right tool':
    'How many of the answers call the functions that the reference calls, and none where it calls none. The order of several calls does not matter.',
  'Right arguments':
    'How many of the answers call the right functions with the arguments of the reference. JSON is compared by its values; other notations as text without white space.',
  'Win rate': 'How often the model finds the chosen answer likelier than the rejected one. 50% is chance.',
  'Win rate per token':
    'The win rate by the mean log-likelihood of a token, so that long answers are not at a disadvantage. 50% is chance.',
  // Verification
  'Next-token agreement with the adapter':
    'How often the GGUF file and the trained model predict the same next token. Small types such as Q4_0 lose some of it.',
  'Texts tokenized identically':
    'The share of test texts that become the same tokens in the GGUF file as in training. Less than 100% makes answers worse.',
  'Max log-probability difference':
    'The largest difference between the log-probabilities of the file and the trained model. It should be near that of the rounding of its type.',
  'Mean KL divergence':
    'How far the predictions of the file are from those of the trained model on average, in nats. Lower is better.',
  'Loss of the file':
    'The loss of the GGUF file on held-out rows. Compare it with the loss of the trained model.',
  'Loss of the trained model':
    'The loss of the trained model in 32 bits on the same held-out rows, before export. The file can hardly do better.',
  'Cost of the file’s type (loss)':
    'How much higher the loss of the file is than that of the trained model. It is the price of the smaller size.',
  'Difference from the base model':
    'The largest difference between the log-probabilities of the file and of the base model. Zero would mean that the training is not in the file.',
  // Datasets
  'Exact duplicates':
    'Rows that another row repeats word for word. The model sees them more often, and an evaluation may be too good.',
  'Near duplicates':
    'Rows that share most of their text with another row. Too many of them teach little and may be in both parts of a split.',
  'Empty answers': 'Rows that teach the model to say nothing. Remove or complete them.',
  'Truncated rows':
    'Rows that are longer than the maximum sequence length; their end is cut off. Raise the length or shorten the rows.',
  'Tokens trained on':
    'The share of tokens that belong to answers. The model is trained on these alone; prompts are only read.',
  '95th percentile':
    '95% of the rows have at most this many tokens. A maximum sequence length near it wastes little memory.',
  // Sweeps and answering
  Culled:
    'Trials that were stopped early, because others were better at the same step. It saves time for promising ones.',
  'First token':
    'The median time from a request to the first token of its answer. Long prompts take longer to read.',
  'Prompt tokens reused':
    'The share of prompt tokens that an earlier request had in common, so that they were not computed again. A long common beginning, such as a system prompt, raises it.',
  'Draft tokens accepted':
    'The share of answer tokens that were guessed from the prompt and then confirmed by the model in one pass. They make an answer faster and never change it.',
  'Merged weights (safetensors)':
    'The base model with the adapter merged into it, in 16 bits, as a folder that transformers, vLLM and MLX load.',
  'Adapter as GGUF':
    'The adapter alone, for llama.cpp: llama-server -m base.gguf --lora adapter.gguf. It needs a GGUF file of the base.',
  // GGUF types: bits per weight as llama.cpp's tools/quantize/README.md gives them for Llama 2 7B
  F16: '16 bits per weight: as exact as the trained model in practice. It is the largest file; choose it to convert it further.',
  Q8_0: '8 bits per weight and nearly lossless. It is half the size of F16, and a good default.',
  Q6_K: '6.6 bits per weight. The loss is small, and the file is a fifth smaller than Q8_0.',
  Q5_K_M:
    '5.7 bits per weight, with more for the most sensitive layers. A small loss, for machines with somewhat less memory.',
  Q4_K_M:
    '4.8 bits per weight, with more for the most sensitive layers. A common compromise, at a little over half the size of Q8_0.',
  Q4_0: '4.5 bits per weight in the oldest and simplest layout. It runs fast on many CPUs and phones, with more loss than Q4_K_M.',
  IQ4_XS:
    '4.3 bits per weight on a nonlinear scale. Smaller than Q4_K_M with little more loss, but slower on some CPUs.',
  Q3_K_M: '3.9 bits per weight. The loss is noticeable, above all in small models.',
  Q2_K: '3.4 bits per weight. For large models that fit no other way: the loss is large.',
};

/** The names that have a note, without a unit. */
export const notedNames = Object.keys(notes);

/** What a figure or a type means, in two sentences; `undefined` where its name says all. */
export function noteOf(label: string): string | undefined {
  const name = label.replace(/ \(%\)$/, '');
  return Object.hasOwn(notes, name) ? notes[name] : undefined;
}
