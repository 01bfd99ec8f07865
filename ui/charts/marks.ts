import type uPlot from 'uplot';

/** What a place on the x axis is marked for. */
export const markNames = {
  resume: 'Resumed',
  checkpoint: 'Checkpoint',
  best: 'Best evaluation',
  limit: 'Limit',
} as const;
export type MarkKind = keyof typeof markNames;

export interface Mark {
  readonly kind: MarkKind;
  /** Its place on the x axis. */
  readonly at: number;
  /** Where several runs are shown: whose it is, and the colour of that run's line. */
  readonly run?: { readonly name: string; readonly colour: string } | undefined;
}

/** Checkpoints may be many: they get a sign at the foot of the chart instead of a line. */
const styles: Readonly<Record<MarkKind, { colour: string; dash: readonly number[]; width: number } | null>> =
  {
    resume: { colour: '--line-3', dash: [2, 3], width: 2 },
    checkpoint: null,
    best: { colour: '--good', dash: [], width: 2 },
    limit: { colour: '--bad', dash: [5, 4], width: 2 },
  };
/** Half the width of a checkpoint's sign in CSS pixels. */
const signSize = 4;

/** Draws marks onto a chart. */
export function drawMarks(plot: uPlot, host: HTMLElement, marks: readonly Mark[]): void {
  if (marks.length === 0) return;
  const { ctx, bbox } = plot;
  const style = getComputedStyle(host);
  const unit = devicePixelRatio;
  const foot = bbox.top + bbox.height;
  ctx.save();
  for (const { kind, at, run } of marks) {
    const left = Math.round(plot.valToPos(at, 'x', true));
    if (left < bbox.left || left > bbox.left + bbox.width) continue;
    const line = styles[kind];
    ctx.beginPath();
    if (line === null) {
      ctx.fillStyle = style.getPropertyValue(run?.colour ?? '--text-muted').trim();
      ctx.moveTo(left, foot - 2 * signSize * unit);
      ctx.lineTo(left - signSize * unit, foot);
      ctx.lineTo(left + signSize * unit, foot);
      ctx.fill();
      continue;
    }
    ctx.strokeStyle = style.getPropertyValue(run?.colour ?? line.colour).trim();
    ctx.lineWidth = line.width * unit;
    ctx.setLineDash(line.dash.map((length) => length * unit));
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, foot);
    ctx.stroke();
  }
  ctx.restore();
}

/** What the marks are called whose nearest point is at an index. */
export function marksAt(marks: readonly Mark[], x: readonly number[], index: number): string[] {
  const at = x[index];
  if (at === undefined) return [];
  const from = index === 0 ? Number.NEGATIVE_INFINITY : ((x[index - 1] as number) + at) / 2;
  const to = index === x.length - 1 ? Number.POSITIVE_INFINITY : ((x[index + 1] as number) + at) / 2;
  const passed = marks.filter((mark) => mark.at > from && mark.at <= to);
  return [...new Set(passed.map(({ kind, run }) => markNames[kind] + (run ? ` (${run.name})` : '')))];
}
