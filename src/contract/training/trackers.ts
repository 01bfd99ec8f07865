/**
 * The trackers that a run's figures can be passed to, by the names that transformers' `report_to` has: the packages that
 * `hone track add` installs, and the variables in which the library takes its key.
 */
export const trackers = {
  wandb: { label: 'Weights & Biases', packages: ['wandb==0.31.0'], keys: ['WANDB_API_KEY'] },
  mlflow: {
    label: 'MLflow',
    // Without its server and page, and with what it needs for SQLite.
    packages: ['mlflow-skinny==3.17.2', 'sqlalchemy==2.1.9', 'alembic==1.20.1'],
    // A bearer token, or the password of MLFLOW_TRACKING_USERNAME.
    keys: ['MLFLOW_TRACKING_TOKEN', 'MLFLOW_TRACKING_PASSWORD'],
  },
  trackio: { label: 'Trackio', packages: ['trackio==0.43.0'], keys: ['HF_TOKEN', 'TRACKIO_WRITE_TOKEN'] },
} as const satisfies Record<string, Tracker>;

interface Tracker {
  readonly label: string;
  readonly packages: readonly string[];
  readonly keys: readonly string[];
}

export type TrackerName = keyof typeof trackers;
export const trackerNames = Object.keys(trackers) as [TrackerName, ...TrackerName[]];

/** The file in the data directory with the keys of trackers, by name. */
export const trackerKeysFile = 'tracker-keys.json';
/** The folder in the data directory with their packages, and with the runs of those that have no server. */
export const trackersFolder = 'trackers';
/** Where runs are if the request names no project. */
export const usualProject = 'hone';
