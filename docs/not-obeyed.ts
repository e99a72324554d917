/** The Cluster Autoscaler's settings that are known and have no effect here, for the configuration reference. */
import { RETIRED, RETIRED_FLAGS } from '../src/config/sources/retired-settings.ts';

/** Two tables: flags, and the keys and variables of its Azure provider. */
export function notObeyed(): string {
  const flags = [...RETIRED_FLAGS]
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map(({ name, verdict, builtIn, instead }) => row([code(`--${name}`), said(verdict), shown(builtIn), instead]));
  const keys = RETIRED.map(({ key, variable, verdict, builtIn = [], instead }) =>
    row([optional(key), optional(variable), said(verdict), shown(builtIn), instead]),
  );
  return [
    '',
    '## Flags of the Cluster Autoscaler that are known and have no effect',
    '',
    'A refused flag stops the start. A flag without effect is a warning. The values under "Same as here" are accepted silently, because they ask for what this program does.',
    '',
    row(['Flag', 'Result', 'Same as here', 'Instead']),
    row(['---', '---', '---', '---']),
    ...flags,
    '',
    '## Keys of azure.json and variables that are known and have no effect',
    '',
    row(['Key', 'Variable', 'Result', 'Same as here', 'Instead']),
    row(['---', '---', '---', '---', '---']),
    ...keys,
    '',
  ].join('\n');
}

function said(verdict: 'refused' | 'ignored'): string {
  return verdict === 'refused' ? 'refused' : 'no effect';
}

/** `t` and `1` mean `true`; `f` and `0` mean `false`. */
function shown(builtIn: readonly string[]): string {
  const spare = builtIn.includes('false') || builtIn.includes('true') ? ['t', '1', 'f', '0'] : [];
  return builtIn
    .filter((value) => value !== '' && !spare.includes(value))
    .map(code)
    .join(', ');
}

function optional(text: string | undefined): string {
  return text === undefined ? '' : code(text);
}

function code(text: string): string {
  return `\`${text}\``;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
