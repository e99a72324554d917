/**
 * The part of the Common Expression Language that device classes and claims use, parsed to a tree. Other syntax is rejected with its name,
 * since a partly understood selector could choose wrong devices. cel-selector.ts evaluates the tree.
 */

export type Expression =
  | { readonly kind: 'literal'; readonly value: string | number | boolean }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  /** A name bound by `cel.bind`. */
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'device'; readonly field: DeviceField }
  /** `of.key`, `of["key"]`; `optional` is the form with a question mark. */
  | { readonly kind: 'member'; readonly of: Expression; readonly key: Expression; readonly optional: boolean }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[] }
  | { readonly kind: 'method'; readonly of: Expression; readonly name: string; readonly args: readonly Expression[] }
  | { readonly kind: 'has'; readonly of: Expression; readonly key: Expression }
  | { readonly kind: 'bind'; readonly name: string; readonly value: Expression; readonly body: Expression }
  | { readonly kind: 'not' | 'minus'; readonly of: Expression }
  | { readonly kind: 'and' | 'or' | 'in'; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'compare'; readonly operator: Comparison; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'choose'; readonly when: Expression; readonly yes: Expression; readonly no: Expression };

export type DeviceField = 'driver' | 'attributes' | 'capacity' | 'allowMultipleAllocations';
export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=';

const DEVICE_FIELDS: ReadonlySet<string> = new Set<DeviceField>(['driver', 'attributes', 'capacity', 'allowMultipleAllocations']);
const COMPARISONS: ReadonlySet<string> = new Set<Comparison>(['==', '!=', '<', '<=', '>', '>=']);
/** Functions and methods with their number of arguments. */
const FUNCTIONS: Readonly<Record<string, number>> = { quantity: 1, semver: 1, size: 1, isQuantity: 1, isSemver: 1 };
const METHODS: Readonly<Record<string, number>> = {
  compareTo: 1,
  isGreaterThan: 1,
  isLessThan: 1,
  asInteger: 0,
  major: 0,
  minor: 0,
  patch: 0,
  startsWith: 1,
  endsWith: 1,
  contains: 1,
  lowerAscii: 0,
  upperAscii: 0,
  size: 0,
  orValue: 1,
  hasValue: 0,
};
const BLANK = /(?:\s|\/\/[^\n]*)*/y;
const TOKEN =
  /(r?"(?:[^"\\\n]|\\.)*"|r?'(?:[^'\\\n]|\\.)*')|(\d+)(?![\w.])|([A-Za-z_]\w*)|(\.\?|\[\?|&&|\|\||==|!=|<=|>=|[-!<>()[\],.?:])/y;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '"': '"', "'": "'", '\\': '\\', '`': '`', '?': '?' };
/** Kubernetes accepts no longer expressions; deeper ones do not occur in practice. */
const MOST_CHARACTERS = 10 * 1024;
const MOST_DEPTH = 50;

interface Token {
  readonly kind: 'text' | 'number' | 'word' | 'sign' | 'end';
  readonly text: string;
}

class UnsupportedExpression extends Error {}

/** The tree, or why the expression is not supported. */
export function parseExpression(source: string): { readonly tree: Expression } | { readonly refused: string } {
  try {
    if (source.length > MOST_CHARACTERS) throw new UnsupportedExpression(`it is longer than ${MOST_CHARACTERS} characters`);
    return { tree: new Parser(tokensOf(source)).whole() };
  } catch (thrown) {
    if (thrown instanceof UnsupportedExpression) return { refused: thrown.message };
    throw thrown;
  }
}

function tokensOf(source: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = skipBlank(source, 0); at < source.length; at = skipBlank(source, TOKEN.lastIndex)) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(source);
    if (match === null) throw new UnsupportedExpression(`"${source.slice(at, at + 20).trim()}" is not supported`);
    const [, text, number, word, sign] = match;
    if (text !== undefined) tokens.push({ kind: 'text', text: unquoted(text) });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (word !== undefined) tokens.push({ kind: 'word', text: word });
    else tokens.push({ kind: 'sign', text: sign ?? '' });
  }
  return [...tokens, { kind: 'end', text: '' }];
}

function skipBlank(source: string, from: number): number {
  BLANK.lastIndex = from;
  BLANK.exec(source);
  return BLANK.lastIndex;
}

function unquoted(text: string): string {
  if (text.startsWith('r')) return text.slice(2, -1);
  return text.slice(1, -1).replaceAll(/\\(.)/g, (_, escaped: string) => {
    const plain = ESCAPES[escaped];
    if (plain === undefined) throw new UnsupportedExpression(`the escape \\${escaped} is not supported`);
    return plain;
  });
}

/** Owns the position in the tokens and the bound names. */
class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  readonly #bound: string[] = [];

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Expression {
    const tree = this.#expression();
    if (this.#next.kind !== 'end') throw new UnsupportedExpression(`"${this.#next.text}" is not expected there`);
    return tree;
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '' };
  }

  #accepts(sign: string): boolean {
    const { kind, text } = this.#next;
    if (kind !== 'sign' || text !== sign) return false;
    this.#at += 1;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#accepts(sign)) throw new UnsupportedExpression(`"${sign}" is missing before "${this.#next.text}"`);
  }

  #expression(): Expression {
    this.#depth += 1;
    if (this.#depth > MOST_DEPTH) throw new UnsupportedExpression('it is nested too deeply');
    const when = this.#either();
    if (!this.#accepts('?')) {
      this.#depth -= 1;
      return when;
    }
    const yes = this.#expression();
    this.#expect(':');
    const no = this.#expression();
    this.#depth -= 1;
    return { kind: 'choose', when, yes, no };
  }

  #either(): Expression {
    let left = this.#both();
    while (this.#accepts('||')) left = { kind: 'or', left, right: this.#both() };
    return left;
  }

  #both(): Expression {
    let left = this.#relation();
    while (this.#accepts('&&')) left = { kind: 'and', left, right: this.#relation() };
    return left;
  }

  #relation(): Expression {
    let left = this.#unary();
    for (;;) {
      const { kind, text } = this.#next;
      if (kind === 'word' && text === 'in') {
        this.#at += 1;
        const right = this.#unary();
        // It is not documented whether the API server counts a domain without attributes as present.
        if (right.kind === 'device') throw new UnsupportedExpression(`"in device.${right.field}" is not supported`);
        left = { kind: 'in', left, right };
      } else if (kind === 'sign' && COMPARISONS.has(text)) {
        this.#at += 1;
        left = { kind: 'compare', operator: text as Comparison, left, right: this.#unary() };
      } else return left;
    }
  }

  #unary(): Expression {
    if (this.#accepts('!')) return { kind: 'not', of: this.#nested(() => this.#unary()) };
    if (this.#accepts('-')) return { kind: 'minus', of: this.#nested(() => this.#unary()) };
    let of = this.#primary();
    for (;;) {
      if (this.#accepts('.')) of = this.#selection(of);
      else if (this.#accepts('.?')) of = { kind: 'member', of, key: { kind: 'literal', value: this.#word() }, optional: true };
      else if (this.#accepts('[')) of = this.#index(of, false);
      else if (this.#accepts('[?')) of = this.#index(of, true);
      else return of;
    }
  }

  #nested(parse: () => Expression): Expression {
    this.#depth += 1;
    if (this.#depth > MOST_DEPTH) throw new UnsupportedExpression('it is nested too deeply');
    const found = parse();
    this.#depth -= 1;
    return found;
  }

  #selection(of: Expression): Expression {
    const name = this.#word();
    if (!this.#accepts('(')) return { kind: 'member', of, key: { kind: 'literal', value: name }, optional: false };
    const args = this.#list(')');
    if (!Object.hasOwn(METHODS, name) || METHODS[name] !== args.length)
      throw new UnsupportedExpression(`the method ${name} is not supported`);
    return { kind: 'method', of, name, args };
  }

  #index(of: Expression, optional: boolean): Expression {
    const key = this.#expression();
    this.#expect(']');
    return { kind: 'member', of, key, optional };
  }

  #word(): string {
    const { kind, text } = this.#next;
    if (kind !== 'word') throw new UnsupportedExpression(`a name is missing before "${text}"`);
    this.#at += 1;
    return text;
  }

  #primary(): Expression {
    const { kind, text } = this.#next;
    if (this.#accepts('(')) {
      const inner = this.#expression();
      this.#expect(')');
      return inner;
    }
    if (this.#accepts('[')) return { kind: 'list', items: this.#list(']') };
    this.#at += 1;
    if (kind === 'text') return { kind: 'literal', value: text };
    if (kind === 'number') return this.#number(text);
    if (kind !== 'word') throw new UnsupportedExpression(text === '' ? 'it ends too early' : `"${text}" is not expected there`);
    if (text === 'true' || text === 'false') return { kind: 'literal', value: text === 'true' };
    if (text === 'device') return this.#device();
    if (text === 'has' && this.#accepts('(')) return this.#has();
    if (text === 'cel') return this.#bind();
    if (this.#accepts('(')) return this.#call(text);
    if (this.#bound.includes(text)) return { kind: 'name', name: text };
    throw new UnsupportedExpression(`"${text}" is not supported`);
  }

  #number(text: string): Expression {
    const value = Number(text);
    if (!Number.isSafeInteger(value)) throw new UnsupportedExpression(`the number ${text} is not supported`);
    return { kind: 'literal', value };
  }

  #device(): Expression {
    this.#expect('.');
    const field = this.#word();
    if (!DEVICE_FIELDS.has(field)) throw new UnsupportedExpression(`device.${field} is not supported`);
    return { kind: 'device', field: field as DeviceField };
  }

  #has(): Expression {
    const [of] = this.#list(')');
    if (of?.kind !== 'member' || of.optional || of.of.kind === 'device')
      throw new UnsupportedExpression('has() of anything but an attribute or a capacity is not supported');
    return { kind: 'has', of: of.of, key: of.key };
  }

  #bind(): Expression {
    this.#expect('.');
    if (this.#word() !== 'bind') throw new UnsupportedExpression('cel.bind is the only supported macro of cel');
    this.#expect('(');
    const name = this.#word();
    this.#expect(',');
    const value = this.#expression();
    this.#expect(',');
    this.#bound.push(name);
    const body = this.#expression();
    this.#bound.pop();
    this.#expect(')');
    return { kind: 'bind', name, value, body };
  }

  #call(name: string): Expression {
    const args = this.#list(')');
    if (!Object.hasOwn(FUNCTIONS, name) || FUNCTIONS[name] !== args.length)
      throw new UnsupportedExpression(`the function ${name} is not supported`);
    return { kind: 'call', name, args };
  }

  #list(end: string): readonly Expression[] {
    const items: Expression[] = [];
    while (!this.#accepts(end)) {
      if (items.length > 0) this.#expect(',');
      items.push(this.#expression());
    }
    return items;
  }
}
