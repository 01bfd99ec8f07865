/** A chart to be put into a picture. */
export interface PicturePart {
  readonly heading: string;
  readonly legend: readonly { readonly label: string; readonly colour: string }[];
  readonly canvas: HTMLCanvasElement;
}

/** CSS pixels. */
const sizes = { margin: 16, gap: 24, title: 18, heading: 14, text: 12, line: 20, swatch: 12 } as const;

interface Placed {
  readonly part: PicturePart;
  readonly left: number;
  readonly top: number;
}

/** Puts parts beside one another while there is room, and else below. */
function placed(parts: readonly PicturePart[], from: number, unit: number) {
  const width = Math.max(...parts.map(({ canvas }) => canvas.width));
  const places: Placed[] = [];
  let [left, top, rowHeight] = [0, from, 0];
  for (const part of parts) {
    const height = part.canvas.height + 2 * sizes.line * unit;
    if (left > 0 && left + part.canvas.width > width) {
      [left, top, rowHeight] = [0, top + rowHeight + sizes.gap * unit, 0];
    }
    places.push({ part, left: left + sizes.margin * unit, top });
    left += part.canvas.width + sizes.gap * unit;
    rowHeight = Math.max(rowHeight, height);
  }
  return { places, width: width + 2 * sizes.margin * unit, height: top + rowHeight + sizes.margin * unit };
}

/**
 * Charts as one picture in the colours of the page, with titles and legends, at the resolution of the screen.
 * @param title stands above; may be empty. @param host whose style is used.
 * @throws Error if the browser cannot make it, as it is too large.
 */
export async function chartPicture(
  title: string,
  parts: readonly PicturePart[],
  host: HTMLElement,
): Promise<Blob> {
  const unit = devicePixelRatio;
  const style = getComputedStyle(host);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const head = title === '' ? sizes.margin : sizes.margin + 2 * sizes.title;
  const { places, width, height } = placed(parts, head * unit, unit);
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width, height });
  const ink = canvas.getContext('2d');
  if (ink === null) throw new Error('The browser could not make the picture.');
  const write = (text: string, left: number, top: number, size: number, weight: number, name: string) => {
    ink.font = `${weight} ${size * unit}px ${style.fontFamily}`;
    ink.fillStyle = colour(name);
    ink.fillText(text, left, top);
    return ink.measureText(text).width;
  };
  ink.fillStyle = colour('--surface');
  ink.fillRect(0, 0, width, height);
  ink.textBaseline = 'middle';
  if (title !== '') {
    const middle = (sizes.margin + sizes.title / 2) * unit;
    write(title, sizes.margin * unit, middle, sizes.title, 600, '--text');
  }
  for (const { part, left, top } of places) {
    write(part.heading, left, top + (sizes.line / 2) * unit, sizes.heading, 600, '--text');
    const middle = top + 1.5 * sizes.line * unit;
    let at = left;
    for (const { label, colour: name } of part.legend) {
      ink.fillStyle = colour(name);
      ink.fillRect(at, middle - unit, sizes.swatch * unit, 3 * unit);
      at += (sizes.swatch + 5) * unit;
      at += write(label, at, middle, sizes.text, 400, '--text-muted') + sizes.margin * unit;
    }
    ink.drawImage(part.canvas, left, top + 2 * sizes.line * unit);
  }
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) =>
      blob === null ? reject(new Error('The browser could not make the picture.')) : resolve(blob),
    );
  });
}
