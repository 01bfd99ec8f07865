import type { Services } from '../../domain/services.ts';
import { errorReply } from '../../http/error-reply.ts';
import { type Face, withExamples } from '../../http/route.ts';
import { examples as accessExamples } from './access/examples.ts';
import { keyRoutes } from './access/key-routes.ts';
import { sessionRoutes } from './access/session-routes.ts';
import { modelDownloadRoutes } from './base-models/download-routes.ts';
import { examples as baseModelsExamples } from './base-models/examples.ts';
import { baseModelRoutes } from './base-models/routes.ts';
import { examples as binExamples } from './bin/examples.ts';
import { binRoutes } from './bin/routes.ts';
import { errorBody } from './common.ts';
import { analysisRoutes } from './datasets/analysis-routes.ts';
import { answerRoutes } from './datasets/answer-routes.ts';
import { changeRoutes } from './datasets/change-routes.ts';
import { exampleRoutes } from './datasets/example-routes.ts';
import { examples as datasetsExamples } from './datasets/examples.ts';
import { datasetRoutes } from './datasets/routes.ts';
import { versionRoutes } from './datasets/version-routes.ts';
import { examples as documentsExamples } from './documents/examples.ts';
import { documentRoutes } from './documents/routes.ts';
import { documentRowRoutes } from './documents/row-routes.ts';
import { examples as evaluationsExamples } from './evaluations/examples.ts';
import { evaluationRoutes } from './evaluations/routes.ts';
import { examples as gradersExamples } from './graders/examples.ts';
import { judgeKeyRoutes } from './graders/key-routes.ts';
import { graderRoutes } from './graders/routes.ts';
import { examples as importsExamples } from './imports/examples.ts';
import { hubDatasetRoutes } from './imports/hub-routes.ts';
import { importRoutes } from './imports/routes.ts';
import { examples as jobsExamples } from './jobs/examples.ts';
import { jobHistoryRoutes } from './jobs/history-routes.ts';
import { jobRoutes } from './jobs/routes.ts';
import { examples as machineExamples } from './machine/examples.ts';
import { hardwareRoutes } from './machine/routes.ts';
import { aliasRoutes } from './models/alias-routes.ts';
import { examples as modelsExamples } from './models/examples.ts';
import { modelExportRoutes } from './models/export-routes.ts';
import { remoteModelRoutes } from './models/remote-routes.ts';
import { modelRoutes } from './models/routes.ts';
import { examples as movingExamples } from './moving/examples.ts';
import { moveRoutes } from './moving/routes.ts';
import { chatRoutes } from './playground/chat-routes.ts';
import { examples as playgroundExamples } from './playground/examples.ts';
import { playgroundRoutes } from './playground/routes.ts';
import { examples as reportsExamples } from './reports/examples.ts';
import { reportRoutes } from './reports/routes.ts';
import { examples as serviceExamples } from './service/examples.ts';
import { serviceRoutes } from './service/routes.ts';
import { examples as sweepsExamples } from './sweeps/examples.ts';
import { sweepRoutes } from './sweeps/routes.ts';
import { examples as trafficExamples } from './traffic/examples.ts';
import { trafficRoutes } from './traffic/routes.ts';
import { examples as trainingExamples } from './training/examples.ts';
import { choiceRoutes } from './training/routes.ts';
import { teacherRoutes } from './training/teacher-routes.ts';

/** Our own routes, beyond the specification. */
export function createHoneFace(services: Services, openApi: () => Readonly<Record<string, unknown>>) {
  return {
    name: 'hone',
    routes: [
      ...withExamples([...jobRoutes(services), ...jobHistoryRoutes(services)], jobsExamples),
      ...withExamples(
        [
          ...datasetRoutes(services),
          ...changeRoutes(services),
          ...answerRoutes(services),
          ...versionRoutes(services),
          ...analysisRoutes(services),
          ...exampleRoutes(services),
        ],
        datasetsExamples,
      ),
      ...withExamples([...documentRoutes(services), ...documentRowRoutes(services)], documentsExamples),
      ...withExamples([...importRoutes(services), ...hubDatasetRoutes(services)], importsExamples),
      ...withExamples([...choiceRoutes(services), ...teacherRoutes(services)], trainingExamples),
      ...withExamples([...baseModelRoutes(services), ...modelDownloadRoutes(services)], baseModelsExamples),
      ...withExamples(hardwareRoutes(services), machineExamples),
      ...withExamples(
        [
          ...modelRoutes(services),
          ...aliasRoutes(services),
          ...remoteModelRoutes(services),
          ...modelExportRoutes(services),
        ],
        modelsExamples,
      ),
      ...withExamples([...playgroundRoutes(services), ...chatRoutes(services)], playgroundExamples),
      ...withExamples(trafficRoutes(services), trafficExamples),
      ...withExamples(moveRoutes(services), movingExamples),
      ...withExamples(sweepRoutes(services), sweepsExamples),
      ...withExamples(evaluationRoutes(services), evaluationsExamples),
      ...withExamples([...graderRoutes(services), ...judgeKeyRoutes(services)], gradersExamples),
      ...withExamples(binRoutes(services), binExamples),
      ...withExamples(reportRoutes(services), reportsExamples),
      ...withExamples([...keyRoutes(services), ...sessionRoutes(services)], accessExamples),
      ...withExamples(serviceRoutes(services, openApi), serviceExamples),
    ],
    presentError: errorReply,
    error: errorBody,
  } satisfies Face;
}
