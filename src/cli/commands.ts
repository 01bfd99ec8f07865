import type { Command } from './command.ts';
import { chat } from './verbs/chat.ts';
import { createCompletion } from './verbs/completion.ts';
import { evaluate } from './verbs/evaluate.ts';
import { exportModel } from './verbs/export.ts';
import { datasets, models, runs } from './verbs/lists.ts';
import { logs } from './verbs/logs.ts';
import { model } from './verbs/model.ts';
import { push } from './verbs/push.ts';
import { rows } from './verbs/rows.ts';
import { train } from './verbs/train.ts';

const clients = [train, chat, evaluate, rows, exportModel, push, model, models, runs, datasets, logs];

/** The commands that are clients of the service, in the order in which help lists them. */
export const commands: readonly Command[] = [...clients, createCompletion(clients)];
