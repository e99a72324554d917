import * as fc from 'fast-check';

/** What a shell could take for something else than a part of a word, and what a terminal would not show. */
export const HOSTILE_WORDS = [
  'Team A (core)',
  'rg(prod)',
  "o'brien",
  '"quoted"',
  '$(reboot)',
  '`reboot`',
  '${HOME}',
  '~',
  '~/data',
  'a;reboot',
  'a && reboot',
  'a | reboot',
  '> /tmp/a-file',
  'two\nlines',
  'ends with a line\n',
  '\n',
  '-n',
  '--all',
  '=ls',
  '',
  ' ',
  '*',
  '{a,b}',
  '!!',
  '# no comment',
  'back\\slash\\',
  '%s%n',
  'a\ttab',
  '\u001B[2J\u001B]52;c;cmVib290\u0007',
  '\u202Ereversed',
  'süß ☃ 日本',
  '\u0007\n\n',
] as const;

/** Any text that a program can be given as a word: without a character 0. */
export const hostileWord = fc.oneof(
  fc.constantFrom(...HOSTILE_WORDS),
  fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replaceAll('\0', '')),
);
