import { type ExportForm, exportForms } from '../../../contract/models/export-forms.ts';
import type { FormObstacles } from '../../../domain/models/export/forms.ts';
import type { Model } from '../../../domain/models/models.ts';
import { readVerified, type VerifiedFile } from '../../../domain/models/verified-files.ts';
import type { Services } from '../../../domain/services.ts';
import { Reply } from '../../../http/reply.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { confirmation, errorBody, tag } from '../common.ts';
import * as s from './schemas.ts';

const noModel: ResponseDoc = { description: 'Model not found', schema: errorBody };
const conflict: ResponseDoc = { description: 'An export of the model is underway', schema: errorBody };
const fullDisk: ResponseDoc = { description: 'The disk is nearly full', schema: errorBody };
const path = '/api/models/{model_id}/export';

/** Whether a file passed, and what its type costs; `null` where that is not known. */
function figuresOf(file: VerifiedFile | undefined) {
  const { passed, loss_increase = null, mean_kl = null, agreement = null } = file ?? {};
  return { verified: passed ?? null, loss_increase, mean_kl, agreement };
}

/** What there is of a form, or why there is none. */
function presentForm(model: Model, form: ExportForm, obstacles: FormObstacles) {
  const made = model.artifacts.find(({ kind }) => kind === form);
  const latest = model.export.forms?.find((one) => one.form === form);
  return {
    obstacle: obstacles[form],
    state: latest?.state ?? (made === undefined ? null : ('done' as const)),
    reason: latest?.reason ?? null,
    name: made?.path ?? null,
    bytes: made?.bytes ?? null,
  };
}

/** The GGUF files of a kept model and its other forms: what became of them, and making them again or in other types. */
export function modelExportRoutes({ checkpoints, exporter, models }: Services) {
  const present = async (model: Model) => {
    // At the same moment as the model was read: an export that ends during the wait would have no files yet.
    const underway = exporter.underway(model);
    const verified = await readVerified(model);
    const obstacles = await exporter.obstacles(model);
    const { files, forms: _, ...outcome } = model.export;
    return {
      ...outcome,
      files: files.map((file) => {
        const { quantization } = file;
        const made = model.artifacts.find((one) => one.kind === 'gguf' && one.quantization === quantization);
        return {
          ...file,
          name: made?.path ?? null,
          bytes: made?.bytes ?? null,
          ...figuresOf(made === undefined ? undefined : verified.get(quantization)),
        };
      }),
      merged: presentForm(model, 'merged', obstacles),
      adapter_gguf: presentForm(model, 'adapter_gguf', obstacles),
      underway,
    };
  };

  return [
    route({
      method: 'GET',
      path,
      tag,
      summary:
        "What became of a model's GGUF files, merged weights and adapter GGUF, and the export that is underway",
      responses: { 200: { description: 'The export', schema: s.modelExport }, 404: noModel },
      handle: ({ params }) => present(models.find(params.model_id)),
    }),
    route({
      method: 'POST',
      path,
      tag,
      summary:
        'Export a model again, to other types, as merged weights or an adapter GGUF, at a strength of its adapter or from a checkpoint; progress is sent as export frames',
      body: s.exportBody,
      bodyExample: { quantizations: ['Q4_K_M', 'F16'], merged: true },
      responses: {
        202: { description: 'It has begun, or waits for its turn', schema: s.modelExport },
        400: {
          description: 'Invalid request, the adapter is missing, or the model has no such form',
          schema: errorBody,
        },
        404: { description: 'Model or checkpoint not found', schema: errorBody },
        409: conflict,
        507: fullDisk,
      },
      handle: async ({ params, body }) => {
        const { quantizations: types = [], strength, checkpoint = null } = body;
        const { modelId } = models.find(params.model_id);
        const isAsItIs = strength === undefined && checkpoint === null;
        const from =
          checkpoint === null ? null : await checkpoints.find(checkpoints.jobOf(modelId), checkpoint);
        const choice = { strength: strength ?? 1, checkpoint, checkpointDir: from?.folder ?? null };
        const forms = exportForms.filter((form) => body[form] === true);
        const model = await exporter.start(modelId, { types, forms }, isAsItIs ? undefined : choice);
        return Reply.json(202, await present(model));
      },
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      summary: 'Cancel the export of a model; its files stay as they were',
      responses: {
        200: { description: 'It was cancelled', schema: confirmation },
        404: noModel,
        409: { description: 'No export is underway', schema: errorBody },
      },
      handle: async ({ params }) => {
        const model = await exporter.cancel(params.model_id);
        return { status: 'cancelled', message: `The export of ${model.name} was cancelled` };
      },
    }),
    route({
      method: 'POST',
      path: '/api/models/{model_id}/quantize',
      tag,
      summary:
        'Make a smaller type from the best GGUF file, without the base model; an export that is not compared',
      body: s.quantizeBody,
      bodyExample: { type: 'Q4_K_M' },
      responses: {
        200: { description: 'Quantization started', schema: confirmation },
        400: { description: 'Invalid request, or a damaged file', schema: errorBody },
        404: noModel,
        409: { description: 'The file exists, or an export of the model is underway', schema: errorBody },
        503: { description: 'The process that quantizes cannot work, or was killed', schema: errorBody },
        507: fullDisk,
      },
      handle: async ({ params, body }) => {
        const model = await exporter.quantize(params.model_id, body.type);
        return { status: 'started', message: `Quantizing ${model.name} to ${body.type}` };
      },
    }),
  ];
}
