/** One point of a run's training series, as `metrics` frames and `/api/jobs/{job_id}/metrics` carry it. */
export interface Point {
  readonly step: number;
  readonly total_steps?: number | null;
  readonly epoch?: number | null;
  readonly total_epochs?: number | null;
  readonly loss?: number | null;
  readonly learning_rate?: number | null;
  readonly grad_norm?: number | null;
  readonly tokens?: number | null;
  readonly tokens_per_second?: number | null;
  readonly elapsed_seconds?: number | null;
  readonly eta_seconds?: number | null;
  readonly memory_bytes?: number | null;
  readonly extra?: Readonly<Record<string, number | null>>;
}

/** One evaluation of a run. */
export interface EvalPoint {
  readonly step: number;
  readonly epoch?: number | null;
  readonly metrics?: Readonly<Record<string, number | null>>;
}

export interface Series {
  readonly train: readonly Point[];
  readonly eval: readonly EvalPoint[];
}

/** One GPU in a `gpu` frame; `null` where the driver tells nothing. */
export interface GpuSample {
  readonly index: number;
  readonly name?: string | null;
  readonly lost?: boolean;
  readonly utilization_percent: number | null;
  readonly memory_used_bytes: number | null;
  readonly memory_total_bytes: number | null;
  readonly temperature_celsius: number | null;
  readonly power_watts: number | null;
}

/** The machine at one moment: the fields of a `gpu` frame. */
export interface HardwareSample {
  readonly cpu_percent: number | null;
  readonly ram_used_bytes: number | null;
  readonly ram_total_bytes: number | null;
  readonly package_watts?: number | null;
  readonly gpu_state?: 'none' | 'read' | 'late';
  readonly gpus: readonly GpuSample[];
}

/** What a socket is told first. */
export interface SnapshotJob {
  readonly state: string;
  readonly progress: number;
  readonly message: string;
  readonly error: string | null;
  readonly phase: string | null;
  readonly phase_progress: number | null;
  readonly detail: string | null;
  readonly started_at: string | null;
  readonly last_metric: Point | null;
}

interface Head {
  readonly seq: number;
  readonly time: string;
  readonly job_id?: string;
}

export type StatusFrame = Head & {
  readonly type: 'status';
  readonly state: string;
  readonly progress: number;
  readonly phase: string | null;
  readonly phase_progress: number | null;
  readonly detail: string | null;
};
export type LogFrame = Head & {
  readonly type: 'log';
  readonly level: string;
  readonly kind: string;
  readonly step?: number;
  readonly message?: string;
  readonly code?: string;
  readonly prompt?: string;
  readonly text?: string;
  readonly best?: boolean;
};
export type ExportFrame = Head & {
  readonly type: 'export';
  readonly model_id?: undefined;
  readonly kind: string;
  readonly path: string;
  readonly bytes: number;
  readonly quantization: string | null;
};

/** How the making of a further GGUF type of a model goes. */
export type QuantizeFrame = Head & {
  readonly type: 'export';
  readonly model_id: string;
  readonly quantization: string;
  readonly state: string;
  readonly progress?: number | null;
  readonly error?: string;
};

/** A model came, went, or is being pushed. */
export type ModelFrame = Head & {
  readonly type: 'model';
  readonly action: string;
  readonly model_id: string;
  readonly state?: string;
  readonly fraction?: number | null;
};

/** Every frame of `/ws/training`. */
export type Frame =
  | (Head & {
      readonly type: 'snapshot';
      readonly state: string;
      readonly job: SnapshotJob | null;
      readonly metrics: readonly Point[];
    })
  | StatusFrame
  | (Omit<StatusFrame, 'type' | 'state'> & { readonly type: 'progress' })
  | (Head & Point & { readonly type: 'metrics'; readonly kind: 'train'; readonly progress?: number })
  | (Head & EvalPoint & { readonly type: 'metrics'; readonly kind: 'eval' })
  | LogFrame
  | ExportFrame
  | QuantizeFrame
  | ModelFrame
  | (Head & HardwareSample & { readonly type: 'gpu' });
