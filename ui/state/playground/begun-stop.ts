/**
 * A text without its end where that may be the beginning of a stop string. The answer goes on before it, because a stop
 * string is only seen in what is generated after.
 */
export function withoutBegunStop(text: string, stops: readonly string[]): string {
  let begun = 0;
  for (const stop of stops)
    for (let length = Math.min(stop.length - 1, text.length); length > begun; length -= 1)
      if (text.endsWith(stop.slice(0, length))) begun = length;
  return text.slice(0, text.length - begun);
}
