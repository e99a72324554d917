/**
 * Texts from elsewhere, made fit for where they are shown: logs, events and terminals (without credentials, and not longer than people read),
 * commands that a person copies into a shell, and files that a person edits.
 */

/** The longest text of another system that is logged or shown, bytes in UTF-8. */
export const MAX_SHOWN_BYTES = 2_048;
/** Longer texts are cut before the patterns run on them, at a space: half a credential would not be recognised. */
const MAX_READ_CHARS = 16_384;
const ELLIPSIS = '…';

const CREDENTIALS: readonly RegExp[] = [
  // A JSON web token anywhere in the text.
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /\bBearer\s+[\w.~+/-]+=*/gi,
  /\b(?:client_secret|client_assertion|access_token|refresh_token|password|sig|AccountKey|SharedAccessKey)=[^&\s"']+/gi,
  /\b(?:client_?secret|client_assertion|access_?token|refresh_token|password|accountKey)\\?"\s*:\s*\\?"[^"\\]+/gi,
];

/** Replaces everything that looks like a credential by `[redacted]`. */
export function redactText(text: string): string {
  // guard: texts of other systems are shown without credentials
  return CREDENTIALS.reduce((rest, pattern) => rest.replace(pattern, '[redacted]'), text);
}

/** The text without credentials, cut to `maxBytes` with an ellipsis. */
export function shownText(text: string, maxBytes = MAX_SHOWN_BYTES): string {
  const isLong = text.length > MAX_READ_CHARS;
  // guard: half of a credential is not shown where a text is cut
  const redacted = redactText(isLong ? text.slice(0, Math.max(0, text.lastIndexOf(' ', MAX_READ_CHARS))) : text);
  const bytes = Buffer.from(redacted);
  // guard: texts of other systems are cut to what people read
  if (!isLong && bytes.length <= maxBytes) return redacted;
  const room = maxBytes - Buffer.byteLength(ELLIPSIS);
  // A stream decoder leaves out a character that was cut in the middle.
  return new TextDecoder().decode(bytes.subarray(0, room), { stream: true }) + ELLIPSIS;
}

/** A character that is not shown, with the rest of one of our colours if it may begin it. Line breaks and tabs are text. */
const NOT_SHOWN = /(?![\n\t])[\p{Cc}\p{Cf}](\[(?:[12]|22|3[1239])m)?/gu;

/**
 * The text for a terminal: what would move the cursor, turn the direction of text, hide or replay something is written as JSON writes it
 * (`\u001b`), so JSON stays the same JSON. Colours stay.
 */
export function visibleText(text: string): string {
  return text.replace(NOT_SHOWN, (found: string, colour = '') => {
    const sign = found.slice(0, found.length - colour.length);
    return sign === '\u001B' && colour !== '' ? found : `${escaped(sign)}${colour}`;
  });
}

/** Signs beyond 16 bits are two numbers. */
function escaped(sign: string): string {
  return sign
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/** Means the same with and without quotes in sh, bash and zsh, also as a part of a word. */
const PLAIN = /^[\w.,:/@%+-][\w.,:=/@%+-]*$/;
/**
 * Controls and invisible formats, such as escape sequences of terminals and marks that turn the direction of text. Each comes with the
 * character after it, since a command substitution drops newlines at its end.
 */
const HIDDEN = /((?:[\p{Cc}\p{Cf}]+[^\p{Cc}\p{Cf}])|[\p{Cc}\p{Cf}]+$)/u;

/**
 * One word for a POSIX shell, in quotes if it needs them, and of visible characters. A word with a character 0 cannot be passed on.
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02
 */
export function quoted(text: string): string {
  // guard: a name, label or tag in a printed command is a word and nothing that runs
  if (PLAIN.test(text)) return text;
  const parts = text.split(HIDDEN).map((part, at) => (at % 2 === 0 ? inQuotes(part) : encoded(part)));
  return parts.join('') || "''";
}

function inQuotes(part: string): string {
  return part === '' ? '' : `'${part.replaceAll("'", "'\\''")}'`;
}

function encoded(part: string): string {
  const shown = part.replace(/\n+$/, '');
  const bytes = [...Buffer.from(shown)].map((byte) => `\\0${byte.toString(8).padStart(3, '0')}`);
  return `${bytes.length === 0 ? '' : `"$(printf %b '${bytes.join('')}')"`}${inQuotes(part.slice(shown.length))}`;
}

/** A list becomes as many words. */
type ShellWords = string | number | readonly string[];

/** A template of a command: every value becomes one word, or a part of one, whatever it contains. */
export function shell(literals: TemplateStringsArray, ...values: readonly ShellWords[]): string {
  return literals.reduce((command, literal, at) => `${command}${wordsOf(values[at - 1] ?? [])}${literal}`);
}

function wordsOf(value: ShellWords): string {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? quoted(value) : value.map(quoted).join(' ');
}

/** Words of YAML that are no text: https://yaml.org/type/ (1.1, which the chart's and the API server's parsers follow). */
const YAML_WORDS = /^(?:null|true|false|yes|no|on|off|y|n)$/i;

/** A text as YAML reads it back, in quotes if it needs them. */
export function yamlText(text: string): string {
  return /^[A-Za-z][\w./-]*$/.test(text) && !YAML_WORDS.test(text) ? text : JSON.stringify(text);
}
