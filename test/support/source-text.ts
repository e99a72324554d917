/**
 * Reads the words of TypeScript sources: comments and string literals, each with its line. A scanner, because the compiler of
 * this repository has no API at run time. It knows comments, quotes, templates and regular expressions, and no grammar.
 */

export interface SourceText {
  readonly kind: 'comment' | 'string';
  readonly text: string;
  /** Line of the first character, from 1. */
  readonly line: number;
  /** Where the text begins and ends in the source, delimiters included. */
  readonly start: number;
  readonly end: number;
  /** The code before and after the text, without comments. */
  readonly before: string;
  readonly after: string;
}

/** A regular expression is read only so that its quotes and brackets are taken for no code. */
type Token = Omit<SourceText, 'kind' | 'line' | 'before' | 'after'> & { readonly kind: SourceText['kind'] | 'pattern' };
type TextToken = Token & Pick<SourceText, 'kind'>;

const NEWLINE = 10;
/** How much code around a text is kept: enough to see what it is an argument of. */
const AROUND = 120;
/** A slash after one of these begins a regular expression; after a value it divides. */
const BEFORE_REGEXP = /(?:^|[(,=:[!&|?{};~+\-*%<>]|\breturn|\btypeof|\bcase|=>)\s*$/;

export function textsOf(source: string): readonly SourceText[] {
  const tokens = new Scanner(source).tokens().filter((token): token is TextToken => token.kind !== 'pattern');
  const code = blankOut(
    source,
    tokens.filter(({ kind }) => kind === 'comment'),
  );
  const lines = lineCounter(source);
  return tokens.map(({ kind, text, start, end }) => ({
    kind,
    text,
    line: lines(start),
    start,
    end,
    before: code.slice(Math.max(0, start - AROUND), start),
    after: code.slice(end, end + AROUND),
  }));
}

/** The source with blanks for comments, and a letter for each character of strings, templates and regular expressions. As long as the source. */
export function codeOf(source: string): string {
  const code = source.split('');
  for (const { kind, start, end } of new Scanner(source).tokens()) code.fill(kind === 'comment' ? ' ' : 'x', start, end);
  return code.join('');
}

/** Counts lines on from the last call, as long as calls go forward. */
function lineCounter(source: string): (index: number) => number {
  let at = 0;
  let line = 1;
  return (index) => {
    if (index < at) [at, line] = [0, 1];
    for (; at < index; at += 1) if (source.charCodeAt(at) === NEWLINE) line += 1;
    return line;
  };
}

function blankOut(source: string, tokens: readonly Token[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { start, end } of tokens) {
    parts.push(source.slice(from, start), source.slice(start, end).replace(/\S/g, ' '));
    from = end;
  }
  return parts.join('') + source.slice(from);
}

class Scanner {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  tokens(): readonly Token[] {
    this.#code(undefined);
    return this.#tokens;
  }

  /** Reads code up to the end, or up to the brace that closes an expression of a template. */
  #code(until: '}' | undefined): void {
    let depth = 0;
    while (this.#at < this.#source.length) {
      const char = this.#source[this.#at] ?? '';
      if (until !== undefined && char === '}' && depth === 0) return;
      if (char === '{') depth += 1;
      if (char === '}') depth -= 1;
      if (!this.#text(char)) this.#at += 1;
    }
  }

  /** Reads a comment, a literal or a regular expression that begins here. */
  #text(char: string): boolean {
    const rest = this.#source.slice(this.#at, this.#at + 2);
    if (rest === '//') this.#comment('\n', 0);
    else if (rest === '/*') this.#comment('*/', 2);
    else if (char === '"' || char === "'") this.#quoted(char);
    else if (char === '`') this.#template();
    else if (char === '/' && this.#isRegExp()) this.#regExp();
    else return false;
    return true;
  }

  #isRegExp(): boolean {
    return BEFORE_REGEXP.test(this.#source.slice(Math.max(0, this.#at - 20), this.#at));
  }

  #comment(closing: string, closingLength: number): void {
    const start = this.#at;
    const found = this.#source.indexOf(closing, start + 2);
    this.#at = found < 0 ? this.#source.length : found + closingLength;
    this.#tokens.push({ kind: 'comment', text: this.#source.slice(start, this.#at), start, end: this.#at });
  }

  #quoted(quote: string): void {
    const start = this.#at;
    this.#at += 1;
    while (this.#at < this.#source.length && this.#source[this.#at] !== quote) this.#at += this.#source[this.#at] === '\\' ? 2 : 1;
    this.#at += 1;
    this.#tokens.push({ kind: 'string', text: this.#source.slice(start + 1, this.#at - 1), start, end: this.#at });
  }

  /** One token for the whole template; expressions inside become `${}`, and their own literals are tokens of their own. */
  #template(): void {
    const start = this.#at;
    const place = this.#tokens.length;
    let text = '';
    this.#at += 1;
    while (this.#at < this.#source.length && this.#source[this.#at] !== '`') {
      if (this.#source.startsWith('${', this.#at)) {
        this.#at += 2;
        this.#code('}');
        this.#at += 1;
        text += '${}';
      } else {
        const length = this.#source[this.#at] === '\\' ? 2 : 1;
        text += this.#source.slice(this.#at, this.#at + length);
        this.#at += length;
      }
    }
    this.#at += 1;
    this.#tokens.splice(place, 0, { kind: 'string', text, start, end: this.#at });
  }

  #regExp(): void {
    const start = this.#at;
    let inClass = false;
    this.#at += 1;
    while (this.#at < this.#source.length) {
      const char = this.#source[this.#at];
      if (char === '\n') return;
      if (char === '\\') this.#at += 1;
      else if (char === '[') inClass = true;
      else if (char === ']') inClass = false;
      else if (char === '/' && !inClass) break;
      this.#at += 1;
    }
    this.#at += 1;
    this.#tokens.push({ kind: 'pattern', text: this.#source.slice(start, this.#at), start, end: this.#at });
  }
}
