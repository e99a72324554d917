/** A new kind of `az` command that the program prints fails here until a case of the e2e suite runs it, or a reason says why none does. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PRINTED_AZ_COMMANDS } from '../support/printed-az-commands.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const CASES = join(ROOT, 'test', 'e2e', 'azure-cli');
/** The words of a command, up to an option, a value, or the end of a text. */
const COMMAND = /\baz((?: [a-z][a-z-]*)+)/g;

/** What the source has in texts: its comments name commands of other people, too. */
function printedCommands(): readonly string[] {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, 'src', file), 'utf8')
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .replace(/^\s*\/\/.*$/gm, '');
    return [...text.matchAll(COMMAND)].map(([, words = '']) => `az${words}`);
  });
}

describe('the az commands that the program prints', () => {
  const printed = printedCommands();
  const isOf = (command: string, verb: string): boolean => `${command} `.startsWith(`${verb} `);

  it('are of a kind that the e2e suite runs, or have a reason why not', () => {
    expect(printed.length).toBeGreaterThan(25);
    expect(printed.filter((command) => !PRINTED_AZ_COMMANDS.some(({ verb }) => isOf(command, verb)))).toEqual([]);
  });

  it('no kind is left over, and each has a case or a reason', () => {
    expect(PRINTED_AZ_COMMANDS.filter(({ verb }) => !printed.some((command) => isOf(command, verb)))).toEqual([]);
    expect(PRINTED_AZ_COMMANDS.filter(({ by, why }) => (by === undefined) === (why === undefined))).toEqual([]);
    expect(PRINTED_AZ_COMMANDS.filter(({ by }) => by !== undefined && !existsSync(join(CASES, by)))).toEqual([]);
  });
});
