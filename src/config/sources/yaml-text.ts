/**
 * YAML as plain values, or one reason why not: wrong syntax, too deep, or aliases and merges that cannot be followed.
 * Never throws, whatever the text is. Must not know what the values mean.
 */
import { Composer, CST, isAlias, LineCounter, Parser, visit, type Document } from 'yaml';

interface YamlDocument {
  readonly content: unknown;
  readonly tree: Document.Parsed;
}

interface YamlTexts {
  readonly documents: readonly YamlDocument[];
  readonly lines: LineCounter;
}

/** A few lines of aliases can expand to gigabytes. */
const MAX_ALIASES = 1000;
/** No format of ours or of Kubernetes is half as deep. The parser recurses, and its stack ends the process. */
const MAX_DEPTH = 100;
const TOO_DEEP = `is nested too deeply; the maximum is ${MAX_DEPTH} levels`;

/** Returns every document of the text. `problem` continues a sentence that begins with the name of the file. */
export function readYaml(text: string): YamlTexts | { readonly problem: string } {
  const lines = new LineCounter();
  const tokens: CST.Token[] = [];
  for (const token of new Parser(lines.addNewLine).parse(text)) {
    if (isTooDeep(token)) return { problem: TOO_DEEP };
    tokens.push(token);
  }
  const documents: YamlDocument[] = [];
  for (const tree of new Composer({ merge: true, logLevel: 'error' }).compose(tokens)) {
    const outcome = contentOf(tree, lines);
    if ('problem' in outcome) return outcome;
    documents.push({ content: outcome.content, tree });
  }
  return { documents, lines };
}

/** Walks with a list of its own instead of the stack. */
function isTooDeep(root: CST.Token): boolean {
  const open: { readonly token: CST.Token; readonly depth: number }[] = [{ token: root, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    // guard: a YAML file cannot nest without end
    if (depth > MAX_DEPTH) return true;
    if (token.type === 'document' && token.value !== undefined) open.push({ token: token.value, depth });
    if (!CST.isCollection(token)) continue;
    for (const { key, value } of token.items) {
      for (const below of [key, value]) if (below !== undefined && below !== null) open.push({ token: below, depth: depth + 1 });
    }
  }
  return false;
}

function contentOf(tree: Document.Parsed, lines: LineCounter): { readonly content: unknown } | { readonly problem: string } {
  const [error] = tree.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    return { problem: `is neither valid YAML nor JSON: ${firstLine(error.message)} at line ${line}, column ${col}` };
  }
  const alias = wrongAlias(tree);
  if (alias !== undefined) return { problem: alias.problem(lines.linePos(alias.at).line) };
  try {
    // guard: a YAML file cannot expand without end
    const content: unknown = tree.toJS({ maxAliasCount: MAX_ALIASES });
    return isDeeper(content, MAX_DEPTH) ? { problem: TOO_DEEP } : { content };
  } catch (thrown) {
    // The parser throws this when the limit is exceeded. Aliases without an anchor were found before.
    if (thrown instanceof ReferenceError) return { problem: `has aliases that expand to too much; the maximum is ${MAX_ALIASES} aliases` };
    return { problem: thrown instanceof Error && thrown.message.startsWith('Merge') ? WRONG_MERGE : 'cannot be read as YAML' };
  }
}

const WRONG_MERGE = 'has a merge key (<<) whose value is neither a map nor a list of maps';

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/[:.]$/, '');
}

interface WrongAlias {
  readonly at: number;
  readonly problem: (line: number) => string;
}

/** The first alias without an anchor, or inside of the value that it stands for. It is not named: it may be a secret. */
function wrongAlias(tree: Document.Parsed): WrongAlias | undefined {
  let wrong: WrongAlias | undefined;
  visit(tree, {
    Alias(_key, alias, path) {
      if (!isAlias(alias)) return undefined;
      const at = alias.range?.[0] ?? 0;
      const target = alias.resolve(tree);
      if (target === undefined) wrong = { at, problem: withoutAnchor };
      else if (path.some((above) => above === target)) wrong = { at, problem: containingItself };
      return wrong === undefined ? undefined : visit.BREAK;
    },
  });
  return wrong;
}

function withoutAnchor(line: number): string {
  return `has an alias without an anchor (*...) at line ${line}; put quotes around text that starts with *`;
}

function containingItself(line: number): string {
  return `has an alias (*...) at line ${line} inside of the value that it stands for`;
}

/** Aliases can nest values deeper than the text is. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((below) => isDeeper(below, levels - 1));
}
