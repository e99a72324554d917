/**
 * Finds the guards in a source. `// guard: <title>` marks the statement that follows, or the property or element, if the mark is
 * in an object, a list or a call. A guard is removed by a change of what it marks. A scanner over text: it knows brackets, and no more grammar.
 */
import { codeOf } from '../../support/source-text.ts';

/**
 * How a guard is removed if the default is not meant. `'always'`: its condition always holds. A list: the first text, which occurs
 * once in the statement, becomes the second, or is removed. Types are not checked.
 */
export type Change = 'always' | readonly [part: string, instead?: string];

export interface MarkedStatement {
  readonly title: string;
  /** Where the statement begins and ends in the source; the `;` or `,` behind it included. */
  readonly start: number;
  readonly end: number;
}

const MARK = /^[ \t]*\/\/ guard: (.+)$/gm;
/** What begins like this stands in an object: `...spread`, `name: value` or `name,`. */
const PROPERTY = /^(?:\.\.\.|\w+\s*[:,}])/;

/** In the order of the source. A mark inside a text is not a mark. */
export function markedStatements(source: string): readonly MarkedStatement[] {
  const marks = [...source.matchAll(MARK)];
  if (marks.length === 0) return [];
  const code = codeOf(source);
  return marks.flatMap((mark) => {
    const [line, title = ''] = mark;
    if (code.slice(mark.index, mark.index + line.length).trim() !== '') return [];
    const start = skipBlanks(code, mark.index);
    return [{ title, start, end: isElement(code, start) ? endOfElement(code, start) : endOfStatement(code, start) }];
  });
}

/** The source without the guard. undefined: the change does not fit the statement. */
export function removeGuard(source: string, { start, end }: MarkedStatement, change?: Change): string | undefined {
  const statement = source.slice(start, end);
  const changed = typeof change === 'object' ? replaceOnce(statement, change) : negate(statement, change === 'always');
  return changed === undefined || changed === statement ? undefined : source.slice(0, start) + changed + source.slice(end);
}

/**
 * The condition of an `if` becomes false, or true if `holds`. A result and the value of a variable become undefined.
 * What is done for its effect, a `throw`, a property and an element are removed. undefined: there is no default.
 */
function negate(statement: string, holds: boolean): string | undefined {
  const code = codeOf(statement);
  const condition = /^(?:else\s+)?if\s*(?=\()/.exec(code);
  if (condition !== null) {
    const [head] = condition;
    return `${head}(${holds})${statement.slice(endOfBrackets(code, head.length))}`;
  }
  if (holds || /^(?:else|for|while|do|switch|try|export|function|class)\b/.test(code)) return undefined;
  if (/^return\b/.test(code)) return 'return;';
  if (/^(?:const|let)\b/.test(code)) return `${statement.slice(0, endOfNames(code))}= undefined;`;
  return '';
}

function replaceOnce(whole: string, [part, instead = '']: readonly [string, string?]): string | undefined {
  const pieces = whole.split(part);
  return pieces.length === 2 ? pieces.join(instead) : undefined;
}

function isElement(code: string, start: number): boolean {
  return /[,[(]$/.test(code.slice(0, start).trimEnd()) || PROPERTY.test(code.slice(start));
}

function endOfElement(code: string, start: number): number {
  for (let at = start; at < code.length; at += 1) {
    at = skipBrackets(code, at);
    if (code[at] === ',') return at + 1;
    if (isClosing(code[at])) return at;
  }
  return code.length;
}

function endOfStatement(code: string, start: number): number {
  const head = /^(?:(?:else\s+)?if|for(?:\s+await)?|while|switch)\s*(?=\()|^else\s*(?=\{)/.exec(code.slice(start));
  if (head !== null) {
    const condition = start + head[0].length;
    const body = endOfStatement(code, skipBlanks(code, code[condition] === '(' ? endOfBrackets(code, condition) : condition));
    const next = skipBlanks(code, body);
    return /^else\b/.test(code.slice(next)) ? endOfStatement(code, next) : body;
  }
  if (code[start] === '{') return endOfBrackets(code, start);
  for (let at = start; at < code.length; at += 1) {
    at = skipBrackets(code, at);
    if (code[at] === ';') return at + 1;
    if (isClosing(code[at])) return at;
  }
  return code.length;
}

/** Where the names and the type of a variable end: at its `=`. */
function endOfNames(code: string): number {
  for (let at = 0; at < code.length; at += 1) {
    at = skipBrackets(code, at);
    if (code[at] === '=' && code[at + 1] !== '>') return at;
  }
  return code.length;
}

/** Behind all brackets that open here, one after the other. */
function skipBrackets(code: string, at: number): number {
  return '([{'.includes(code[at] ?? ' ') ? skipBrackets(code, endOfBrackets(code, at)) : at;
}

/** Behind the bracket that closes the one at `start`. */
function endOfBrackets(code: string, start: number): number {
  let depth = 0;
  for (let at = start; at < code.length; at += 1) {
    if ('([{'.includes(code[at] ?? ' ')) depth += 1;
    if (isClosing(code[at])) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return code.length;
}

function isClosing(char: string | undefined): boolean {
  return char === ')' || char === ']' || char === '}';
}

function skipBlanks(code: string, from: number): number {
  const blanks = /^\s*/.exec(code.slice(from))?.[0] ?? '';
  return from + blanks.length;
}
