/** Formats numbers and times; an unknown value is an en dash. */

const none = '–';

/** Writes a value with this many significant digits, by default with as many as are usual for it. */
export type Format = (value: number | null | undefined, digits?: number) => string;

/** A number with a few significant digits, in exponential notation if very small or large. */
export function formatNumber(value: number | null | undefined, digits = 3): string {
  if (value == null || !Number.isFinite(value)) return none;
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e7) return Number(value.toPrecision(digits)).toExponential().replace('e+', 'e');
  if (Number.isInteger(value)) return value.toLocaleString('en');
  return value.toLocaleString('en', { maximumSignificantDigits: digits });
}

/** A fraction in percent: `98.2%`. What is nearly whole is not told as 100%. */
export function formatPercent(fraction: number | null | undefined, digits = 3): string {
  if (fraction == null || !Number.isFinite(fraction)) return none;
  const most = fraction < 1 ? 100 - 10 ** (2 - digits) : Number.POSITIVE_INFINITY;
  return `${formatNumber(Math.min(100 * fraction, most), digits)}%`;
}

/** An integer with thousands separators. */
export function formatCount(value: number | null | undefined): string {
  return value == null ? none : Math.round(value).toLocaleString('en');
}

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Bytes in powers of 1000, as for disks. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes == null || !Number.isFinite(bytes)) return none;
  let size = bytes;
  let unit = 0;
  while (size >= 1000 && unit < byteUnits.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size >= 100 || unit === 0 ? Math.round(size) : size.toPrecision(3)} ${byteUnits[unit]}`;
}

/** A size that is known to the kilobyte, in megabytes of 1000 kB. */
export function formatMegabytes(megabytes: number): string {
  const kilobytes = Math.round(megabytes * 1000);
  if (kilobytes < 1) return 'under 1 kB';
  return kilobytes < 100 ? `${kilobytes} kB` : formatBytes(megabytes * 1e6);
}

const bytesPerGib = 2 ** 30;

/** Memory in powers of 1024, labelled GB as is customary. */
export function formatMemory(bytes: number | null | undefined, digits = 3): string {
  if (bytes == null || !Number.isFinite(bytes)) return none;
  const size = bytes / bytesPerGib;
  if (size >= 1) return `${size.toPrecision(digits)} GB`;
  const megabytes = size * 1024;
  return `${digits > 3 ? Number(megabytes.toPrecision(digits)) : Math.round(megabytes)} MB`;
}

/** A duration in its two largest units. */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds == null || !Number.isFinite(seconds) || seconds < 0) return none;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}

/** How long an answer took. */
export const formatLatency = (milliseconds: number): string =>
  milliseconds < 1000 ? `${formatCount(milliseconds)} ms` : `${formatNumber(milliseconds / 1000)} s`;

/** Made once: making it takes longer than all else about a row of a list. */
const moments = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

/** A time stamp as local date and time. */
export function formatMoment(iso: string | null | undefined): string {
  return iso == null ? none : moments.format(new Date(iso));
}

/** How long ago, in one unit. */
export function formatAgo(iso: string, now = Date.now()): string {
  const seconds = Math.max(0, (now - Date.parse(iso)) / 1000);
  if (seconds < 60) return 'just now';
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** How long a job has run, or ran, in all of its attempts, in seconds; `null` if it has not started. */
export function jobSeconds(job: {
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly earlier_seconds: number;
}): number | null {
  const latest = spanSeconds(job.started_at, job.ended_at);
  return latest === null ? job.earlier_seconds || null : job.earlier_seconds + latest;
}

/** The time between two moments, or since the first, in seconds. */
export function spanSeconds(from: string | null, to: string | null): number | null {
  if (from === null) return null;
  return Math.max(0, ((to === null ? Date.now() : Date.parse(to)) - Date.parse(from)) / 1000);
}
