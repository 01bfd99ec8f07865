import { download, fileNameOf } from '../elements/download.ts';
import { toasts } from '../state/app.ts';
import { chartCsv } from './chart-csv.ts';
import type { ShownChart } from './chart-data.ts';
import { chartPicture } from './chart-picture.ts';

/** The name of a file of charts, without its extension. */
const nameOf = (title: string, charts: readonly ShownChart[]) =>
  fileNameOf([title, charts.length === 1 ? (charts[0] as ShownChart).heading : 'charts'].join(' ').trim());

/** Saves the values of charts. @param title of whom they are. */
export function saveCsv(title: string, charts: readonly ShownChart[]): void {
  download(`${nameOf(title, charts)}.csv`, chartCsv(charts), 'text/csv');
}

/** Saves charts as they look now; a toast says if the browser cannot. @param title of whom they are. */
export async function savePng(title: string, charts: readonly ShownChart[]): Promise<void> {
  const [first] = charts;
  if (first === undefined) return;
  const parts = charts.flatMap((chart) => {
    const canvas = chart.drawn();
    return canvas === null ? [] : [{ heading: chart.heading, legend: chart.lines, canvas }];
  });
  try {
    download(`${nameOf(title, charts)}.png`, await chartPicture(title, parts, first), 'image/png');
  } catch (error) {
    toasts.show(`${(error as Error).message} A single chart is saved from its data table.`, 'error');
  }
}
