/** A piece of HTML: text that was escaped, or made of such pieces. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Value = Markup | string | number | readonly Markup[] | null;

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const textOf = (value: Value): string =>
  value === null
    ? ''
    : value instanceof Markup
      ? value.text
      : Array.isArray(value)
        ? value.map(textOf).join('')
        : String(value).replace(/[&<>"']/g, (sign) => escapes[sign] as string);

/** HTML in which every value that is no markup itself is escaped, in texts and in quoted attributes. */
export const markup = (parts: TemplateStringsArray, ...values: readonly Value[]): Markup =>
  new Markup(String.raw({ raw: parts }, ...values.map(textOf)));
