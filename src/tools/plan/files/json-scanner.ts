/**
 * Cuts a stream of JSON into objects without holding all of it: the items of a `List` one by one, and any number of documents one after
 * another or in a list. Must not know what an object means, or where the bytes come from.
 */
import { configError } from '../../../lib/errors.ts';

/** The text of one JSON value. */
export interface ScannedValue {
  /** `item`: an entry of the list `items` of a document, which follows with an empty list. `document`: anything else. */
  readonly kind: 'item' | 'document';
  readonly text: string;
  /** Of an item: the members of its document before `items`, as JSON, often with the kind of the items. Of a document: empty. */
  readonly before: string;
}

/** Between documents, before a key, after a key, in the value of a key, after it, before an item, in it, after it, in a bare value. */
type Mode = 'document' | 'key' | 'in-key' | 'colon' | 'value' | 'member' | 'first-element' | 'element' | 'item' | 'after-item' | 'bare';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_MAP = 0x7b;
const CLOSE_MAP = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const DASH = 0x2d;
const DOT = 0x2e;
/** Space, line feed, carriage return and tab. */
const BLANKS: readonly number[] = [0x20, 0x0a, 0x0d, 0x09];
const NOTHING = Buffer.alloc(0);
/** Far more than etcd stores of one object. */
const MOST_BYTES = 64 * 2 ** 20;

const QUOTES = 1;
const OPENS = 2;
const CLOSES = 3;
const SEPARATES = 4;
/** What each byte means outside of texts. */
const KINDS = new Uint8Array(256);
KINDS[QUOTE] = QUOTES;
for (const byte of [OPEN_MAP, OPEN_LIST]) KINDS[byte] = OPENS;
for (const byte of [CLOSE_MAP, CLOSE_LIST]) KINDS[byte] = CLOSES;
for (const byte of [COMMA, ...BLANKS]) KINDS[byte] = SEPARATES;

/** Feed it every chunk, then call `end`. Any cut of the bytes into chunks gives the same values. */
export class JsonScanner {
  readonly #file: string;
  #bytes: Buffer = NOTHING;
  #at = 0;
  /** Bytes of earlier chunks that are no longer held. */
  #passed = 0;
  #mode: Mode = 'document';
  /** Where the text begins that is not yet complete; -1 if there is none. */
  #start = -1;
  #keyStart = 0;
  #isItems = false;
  #depth = 0;
  #isQuoted = false;
  /** Texts of the current document without its items. */
  #parts: string[] = [];
  #before = '';
  /** Documents in a list are separated by commas. */
  #isListed = false;
  #needsComma = false;

  /** `file` is named in errors. */
  constructor(file: string) {
    this.#file = file;
  }

  /** @throws AutoscalerError `config` if the bytes are not JSON. Whether each text is valid is only known once it is parsed. */
  *feed(chunk: Uint8Array): Generator<ScannedValue, void> {
    this.#append(chunk);
    for (;;) {
      this.#at += this.#start === -1 || this.#isBetween() ? this.#blanks() : 0;
      if (this.#at >= this.#bytes.length) return;
      const found = this.#step(this.#bytes[this.#at] ?? 0);
      if (found !== undefined) yield found;
    }
  }

  /** @throws AutoscalerError `config` if the last document is incomplete. */
  *end(): Generator<ScannedValue, void> {
    // A bare number ends with the text.
    if (this.#mode === 'bare' && this.#depth === 0) yield* this.feed(Buffer.from('\n'));
    if (this.#mode !== 'document' || this.#isListed) throw this.#wrong('it ends in the middle of an object; was it written completely?');
  }

  #append(chunk: Uint8Array): void {
    const kept = this.#start === -1 ? this.#bytes.length : this.#start;
    if (this.#bytes.length - kept > MOST_BYTES) throw this.#wrong(`an object has more than ${MOST_BYTES / 2 ** 20} MiB`);
    this.#bytes =
      kept === this.#bytes.length
        ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
        : Buffer.concat([this.#bytes.subarray(kept), chunk]);
    this.#passed += kept;
    this.#at -= kept;
    this.#keyStart -= kept;
    if (this.#start !== -1) this.#start = 0;
  }

  #isBetween(): boolean {
    return this.#mode === 'key' || this.#mode === 'colon' || this.#mode === 'member';
  }

  #blanks(): number {
    let at = this.#at;
    while (isBlank(this.#bytes[at] ?? 0)) at++;
    return at - this.#at;
  }

  #step(byte: number): ScannedValue | undefined {
    switch (this.#mode) {
      case 'document':
        return this.#beginDocument(byte);
      case 'key':
        return byte === CLOSE_MAP ? this.#endDocument() : this.#beginKey(byte);
      case 'in-key':
        return this.#endKey();
      case 'colon':
        return this.#beginValue(byte);
      case 'value':
        if (this.#skipValue()) this.#mode = 'member';
        return undefined;
      case 'member':
        return byte === CLOSE_MAP ? this.#endDocument() : this.#nextMember(byte);
      case 'first-element':
      case 'element':
        return this.#beginItem(byte);
      case 'item':
      case 'bare':
        return this.#endText();
      case 'after-item':
        return this.#nextItem(byte);
    }
  }

  #beginDocument(byte: number): undefined {
    if (this.#isSeparator(byte)) return undefined;
    if (this.#needsComma) throw this.#unexpected();
    if (byte === OPEN_LIST && !this.#isListed) {
      this.#isListed = true;
      this.#at++;
      return undefined;
    }
    this.#start = this.#at;
    this.#mode = byte === OPEN_MAP ? 'key' : 'bare';
    if (byte === OPEN_MAP) this.#at++;
    else if (!this.#isListed) throw this.#unexpected();
    return undefined;
  }

  /** In a list, a comma or its end; else lines of dashes or dots, as between documents of YAML. */
  #isSeparator(byte: number): boolean {
    const isEnd = this.#isListed && byte === CLOSE_LIST;
    const isComma = this.#isListed && this.#needsComma && byte === COMMA;
    const isLine = !this.#isListed && (byte === DASH || byte === DOT);
    if (isEnd) this.#isListed = false;
    if (isEnd || isComma) this.#needsComma = false;
    if (isEnd || isComma || isLine) this.#at++;
    return isEnd || isComma || isLine;
  }

  #beginKey(byte: number): undefined {
    if (byte !== QUOTE) throw this.#unexpected();
    this.#keyStart = this.#at;
    this.#mode = 'in-key';
    return undefined;
  }

  #endKey(): undefined {
    if (!this.#skipValue()) return undefined;
    this.#isItems = this.#bytes.toString('utf8', this.#keyStart, this.#at) === '"items"';
    this.#mode = 'colon';
    return undefined;
  }

  #beginValue(byte: number): undefined {
    if (byte === COLON) this.#at++;
    else if (byte === OPEN_LIST && this.#isItems) this.#beginItems();
    else this.#mode = 'value';
    return undefined;
  }

  #beginItems(): void {
    this.#parts.push(this.#bytes.toString('utf8', this.#start, this.#keyStart));
    this.#before = `${this.#parts.join('').trimEnd().replace(/,$/, '')}}`;
    this.#start = -1;
    this.#mode = 'first-element';
    this.#at++;
  }

  #nextMember(byte: number): undefined {
    if (byte !== COMMA) throw this.#unexpected();
    this.#mode = 'key';
    this.#at++;
    return undefined;
  }

  #endDocument(): ScannedValue {
    this.#at++;
    this.#parts.push(this.#bytes.toString('utf8', this.#start, this.#at));
    const text = this.#parts.join('');
    this.#parts = [];
    this.#start = -1;
    this.#mode = 'document';
    this.#needsComma = this.#isListed;
    return { kind: 'document', text, before: '' };
  }

  #beginItem(byte: number): undefined {
    if (byte === CLOSE_LIST && this.#mode === 'first-element') return this.#endItems();
    this.#start = this.#at;
    this.#mode = 'item';
    return undefined;
  }

  #nextItem(byte: number): undefined {
    if (byte === CLOSE_LIST) return this.#endItems();
    if (byte !== COMMA) throw this.#unexpected();
    this.#mode = 'element';
    this.#at++;
    return undefined;
  }

  #endItems(): undefined {
    this.#parts.push('"items":[]');
    this.#at++;
    this.#start = this.#at;
    this.#mode = 'member';
    return undefined;
  }

  #endText(): ScannedValue | undefined {
    if (!this.#skipValue()) return undefined;
    if (this.#at === this.#start) throw this.#unexpected();
    const text = this.#bytes.toString('utf8', this.#start, this.#at);
    this.#start = -1;
    if (this.#mode === 'item') {
      this.#mode = 'after-item';
      return { kind: 'item', text, before: this.#before };
    }
    this.#mode = 'document';
    this.#needsComma = this.#isListed;
    return { kind: 'document', text, before: '' };
  }

  /** Moves to the end of a value, or of the bytes. @returns whether the value is complete. */
  #skipValue(): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    let depth = this.#depth;
    let isQuoted = this.#isQuoted;
    while (at < bytes.length) {
      if (isQuoted) {
        at = closingQuote(bytes, at) + 1;
        isQuoted = at > bytes.length;
        if (!isQuoted && depth === 0) return this.#completeAt(at);
        continue;
      }
      const kind = KINDS[bytes[at] ?? 0];
      // The bracket, comma or blank after a number belongs to what surrounds it.
      if (depth === 0 && (kind === CLOSES || kind === SEPARATES)) return this.#completeAt(at);
      if (kind === QUOTES) isQuoted = true;
      else if (kind === OPENS) depth++;
      else if (kind === CLOSES && --depth === 0) return this.#completeAt(at + 1);
      at++;
    }
    // The search for the end of a text ends one byte later.
    this.#at = isQuoted ? Math.max(bytes.length, at - 1) : at;
    this.#depth = depth;
    this.#isQuoted = isQuoted;
    return false;
  }

  #completeAt(at: number): true {
    this.#at = at;
    this.#depth = 0;
    this.#isQuoted = false;
    return true;
  }

  #unexpected(): Error {
    return this.#wrong(`unexpected ${JSON.stringify(String.fromCodePoint(this.#bytes[this.#at] ?? 0))} at byte ${this.#passed + this.#at}`);
  }

  #wrong(what: string): Error {
    return configError(`${this.#file} is not valid JSON: ${what}${/[.?]$/.test(what) ? '' : '.'}`);
  }
}

/** A blank of JSON. */
export function isBlank(byte: number): boolean {
  return BLANKS.includes(byte);
}

/** The index of the next quote that is not escaped; at least the number of bytes if there is none, more if the last byte escapes the next. */
function closingQuote(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    at += byte === BACKSLASH ? 2 : 1;
  }
  return at;
}
