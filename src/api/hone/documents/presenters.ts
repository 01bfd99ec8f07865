import type { DocumentRecord } from '../../../domain/documents/document.ts';
import type { MakingEstimate, NamedMaking } from '../../../domain/documents/making/document-rows.ts';
import { isActive, type MakingRequest } from '../../../domain/documents/making/row-making.ts';
import type { Services } from '../../../domain/services.ts';
import type { MakingBody } from './schemas.ts';

/** The default share for validation. */
const usualShare = 0.1;

export const presentDocument = ({ sizeBytes, characters, pageCount, ...document }: DocumentRecord) => ({
  id: document.id,
  name: document.name,
  size_bytes: sizeBytes,
  characters,
  pages: pageCount,
  pages_without_text: document.pagesWithoutText,
  created_at: document.createdAt,
});

/** What a body asks for. @param documents of which all are meant by default. */
export function makingRequest(
  body: MakingBody,
  documents: Pick<Services['documents'], 'list'>,
): MakingRequest {
  const isOfDataset = body.dataset !== null;
  const chosen = isOfDataset ? [] : (body.documents ?? documents.list().map(({ id }) => id));
  return {
    name: body.name,
    kind: body.kind,
    model: body.model,
    dataset: body.dataset,
    documents: chosen,
    maxRows: body.max_rows,
    rowsPerPassage: body.rows_per_passage,
    passageCharacters: body.passage_characters,
    validationShare: isOfDataset ? 0 : (body.validation_share ?? (chosen.length > 1 ? usualShare : 0)),
    seed: body.seed,
    temperature: body.temperature,
    maxTokens: body.max_tokens,
    instructions: body.instructions,
    fields: body.fields ?? [],
    labels: body.labels ?? [],
    language: body.language,
    grader: body.grader,
    bar: body.bar,
  };
}

const presentRequest = ({
  maxRows,
  rowsPerPassage,
  passageCharacters,
  validationShare,
  maxTokens,
  ...request
}: MakingRequest) => ({
  ...request,
  documents: [...request.documents],
  fields: [...request.fields],
  labels: [...request.labels],
  max_rows: maxRows,
  rows_per_passage: rowsPerPassage,
  passage_characters: passageCharacters,
  validation_share: validationShare,
  max_tokens: maxTokens,
});

const presentFiles = ({ training, validation }: NamedMaking['files']) => ({
  training: [...training],
  validation: [...validation],
});

export const presentEstimate = (found: MakingEstimate) => ({
  sources: found.sources,
  near_duplicates: found.nearDuplicates,
  files: presentFiles(found.files),
  requests: found.requests,
  tokens: { prompt: found.promptTokens, answer: found.answerTokens },
});

/** What the rest will take, in tokens, if its answers are like those before. */
function expectedTokens({ answered, sources, rows, request, tokens, state }: NamedMaking): number | null {
  const made = rows.training + rows.validation;
  if (answered === 0 || !isActive({ state })) return null;
  const perAnswer = (tokens.prompt + tokens.answer + tokens.grading) / answered;
  const needed = made === 0 ? sources : ((request.maxRows - made) * answered) / made;
  return Math.round(Math.max(0, Math.min(sources - answered, needed)) * perAnswer);
}

export const presentMaking = (making: NamedMaking) => ({
  id: making.id,
  state: making.state,
  request: presentRequest(making.request),
  created_at: making.createdAt,
  ended_at: making.endedAt,
  error: making.error,
  last_problem: making.lastProblem,
  sources: making.sources,
  answered: making.answered,
  near_duplicates: making.nearDuplicateSources,
  files: presentFiles(making.files),
  useless: making.useless,
  rows: making.rows,
  dropped: making.dropped,
  tokens: { ...making.tokens, expected: expectedTokens(making) },
  datasets: {
    training: making.datasets.training?.name ?? null,
    validation: making.datasets.validation?.name ?? null,
  },
});
