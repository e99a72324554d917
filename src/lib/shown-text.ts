/** Texts from elsewhere, made fit for logs, events and terminals: without credentials, and not longer than people read. */

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
  return CREDENTIALS.reduce((rest, pattern) => rest.replace(pattern, '[redacted]'), text);
}

/** The text without credentials, cut to `maxBytes` with an ellipsis. */
export function shownText(text: string, maxBytes = MAX_SHOWN_BYTES): string {
  const isLong = text.length > MAX_READ_CHARS;
  const redacted = redactText(isLong ? text.slice(0, Math.max(0, text.lastIndexOf(' ', MAX_READ_CHARS))) : text);
  const bytes = Buffer.from(redacted);
  if (!isLong && bytes.length <= maxBytes) return redacted;
  const room = maxBytes - Buffer.byteLength(ELLIPSIS);
  // A stream decoder leaves out a character that was cut in the middle.
  return new TextDecoder().decode(bytes.subarray(0, room), { stream: true }) + ELLIPSIS;
}
