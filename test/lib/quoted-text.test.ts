import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { quoted, shell, visibleText, yamlText } from '../../src/lib/shown-text.ts';
import { hostileWord } from '../support/hostile-words.ts';
import { callsOf } from '../support/shell-calls.ts';

describe('a word of a command', () => {
  it('arrives as it is, and nothing in it runs', () => {
    fc.assert(
      fc.property(fc.array(hostileWord, { minLength: 1, maxLength: 20 }), (words) => {
        const line = shell`kubectl get ${words} --all=${words[0] ?? ''} -n ${3}`;
        expect(callsOf(line)).toEqual([['kubectl', 'get', ...words, `--all=${words[0] ?? ''}`, '-n', '3']]);
      }),
    );
  });

  it('is shown in full: no character of it is invisible or moves the cursor', () => {
    fc.assert(
      fc.property(hostileWord, (word) => {
        expect(quoted(word).replace(/\n+'$/, '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      }),
    );
  });

  it.each([
    ['web', 'web'],
    ['min=1', 'min=1'],
    ['app.kubernetes.io/name=web', 'app.kubernetes.io/name=web'],
    ['', "''"],
    ['Team A', "'Team A'"],
    ["o'brien", "'o'\\''brien'"],
    ['=ls', "'=ls'"],
    ['a\u001Bb', `'a'"$(printf %b '\\0033\\0142')"`],
  ])('%j is %s', (word, written) => {
    expect(quoted(word)).toBe(written);
  });
});

describe('a text in a YAML file', () => {
  it('is read back as that text', () => {
    fc.assert(
      fc.property(fc.oneof(hostileWord, fc.constantFrom('null', 'NO', 'y', '1e3', '0x1', 'a: b', 'a #b', '[a', '@a', '-')), (text) => {
        expect(parse(`[{name: ${yamlText(text)}, min: 1}]`, { version: '1.1' })).toEqual([{ name: text, min: 1 }]);
      }),
    );
  });

  it('has no quotes where it needs none', () => {
    expect(['gpu', 'nvidia.com/gpu', 'vms/Standard_D4s_v5'].map(yamlText)).toEqual(['gpu', 'nvidia.com/gpu', 'vms/Standard_D4s_v5']);
  });
});

describe('a text on a terminal', () => {
  it('cannot command it: only line breaks, tabs and colours are left of what is not shown', () => {
    fc.assert(
      fc.property(hostileWord, (text) => {
        expect(visibleText(text).replaceAll(/[\n\t]/g, '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
        // Line breaks of the text stand as signs in JSON already.
        expect(JSON.parse(visibleText(JSON.stringify({ [text]: text })))).toEqual({ [text]: text });
      }),
    );
    expect(visibleText('\u001B[8mhidden\u0007[32m')).toBe('\\u001b[8mhidden\\u0007[32m');
    expect(visibleText('\u001B[32mgreen\u001B[39m \u001B[2Jcleared \u202Eback \u{E0041}')).toBe(
      '\u001B[32mgreen\u001B[39m \\u001b[2Jcleared \\u202eback \\udb40\\udc41',
    );
  });
});
