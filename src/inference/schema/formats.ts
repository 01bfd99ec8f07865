const time = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)';
/** Each month with its days; the 29th of February is left out. */
const date =
  '\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))';
const byte = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const atom = "[A-Za-z0-9_'+-]{1,32}";

/** The formats of strings that answers are held to, each as a regular expression for values that are surely valid. */
export const formats: Readonly<Record<string, string>> = {
  date: `^${date}$`,
  time: `^${time}$`,
  'date-time': `^${date}T${time}$`,
  duration:
    '^P(?:\\d{1,4}[YMWD]|T\\d{1,4}[HMS]|\\d{1,3}DT\\d{1,2}H(?:\\d{1,2}M)?|T\\d{1,2}H\\d{1,2}M(?:\\d{1,2}S)?)$',
  email: `^${atom}(?:\\.${atom}){0,4}@${label}(?:\\.${label}){0,4}\\.[A-Za-z]{2,24}$`,
  hostname: `^${label}(?:\\.${label}){0,4}$`,
  ipv4: `^${byte}(?:\\.${byte}){3}$`,
  uuid: '^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
};
