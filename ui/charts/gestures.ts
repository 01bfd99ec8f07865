import type uPlot from 'uplot';
import type { ChartGroup } from './chart-group.ts';

/** Zooms with Ctrl and the wheel, moves while Shift is held and dragged, and shows all on a double click. */
export function listen(plot: uPlot, group: () => ChartGroup): void {
  plot.over.addEventListener('dblclick', () => group().reset());
  plot.over.addEventListener(
    'wheel',
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      group().scale(event.deltaY < 0 ? 1 : -1, plot.posToVal(event.offsetX, 'x'));
    },
    { passive: false },
  );
  plot.over.addEventListener(
    'mousedown',
    (event) => {
      if (!event.shiftKey) return;
      event.stopImmediatePropagation();
      event.preventDefault();
      let from = event.clientX;
      const move = (moved: MouseEvent) => {
        const { min, max } = plot.scales.x as { min: number; max: number };
        group().show(min - ((moved.clientX - from) / plot.over.clientWidth) * (max - min), max - min);
        from = moved.clientX;
      };
      addEventListener('mousemove', move);
      addEventListener('mouseup', () => removeEventListener('mousemove', move), { once: true });
    },
    { capture: true },
  );
}
