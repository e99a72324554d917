import { describe, expect, it } from 'vitest';
import { parsePriorities } from '../../../src/config/schema/expanders.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';

const parse = (text: string) => parsePriorities('priorities', text);

describe('priority rules of a ConfigMap', () => {
  it('are a map of whole numbers to patterns, as the Cluster Autoscaler reads it', () => {
    expect(parse('10:\n  - .*general.*\n50:\n  - .*spot.*\n  - (?i)GPU\n')).toEqual([
      { priority: 10, patterns: ['.*general.*'] },
      { priority: 50, patterns: ['.*spot.*', '(?i)GPU'] },
    ]);
  });

  it.each([
    ['nothing', '', 'priorities is empty.'],
    ['no YAML', '10: [', 'neither valid YAML nor JSON'],
    ['a list', '- a', 'a map of priorities (whole numbers) to lists of patterns'],
    ['a word for a number', 'high:\n  - a', 'a map of priorities (whole numbers) to lists of patterns'],
    ['a text for a list', '10: a', 'priorities at 10 is invalid; it must be a list of patterns'],
    ['a pattern that is none', '10:\n  - "a["', 'it must be a regular expression'],
    ['a level twice', '10:\n  - a\n10:\n  - b', 'neither valid YAML nor JSON'],
    ['two documents', '10: [a]\n---\n20: [b]', 'more than one document'],
    ['an empty map', '{}', 'at least one'],
  ])('a bad edit is one sentence: %s', (_, text, words) => {
    expect(() => parse(text)).toThrow(AutoscalerError);
    expect(() => parse(text)).toThrow(words);
  });
});
