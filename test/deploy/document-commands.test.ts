/** Every command of the documents is run by the e2e suite, or stands in a list that says why it is not; every page starts with its task. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PAGES } from '../support/documents.ts';
import { documentCommands, NOT_RUN, whyNotRun } from '../support/document-commands.ts';

/** What `test/e2e/documents.e2e.ts` provides. */
const RUN = /^(?:helm (?:upgrade|template)|kubectl |aks-autoscaler |npm run (?:--silent )?cli -- |curl -s )/;

describe('the commands of the documents', () => {
  const commands = documentCommands();

  it('are run, or have a reason why not', () => {
    expect(commands.length).toBeGreaterThan(80);
    const neither = commands.filter(({ command }) => whyNotRun(command) === undefined && !RUN.test(command));
    expect(neither).toEqual([]);
  });

  it('no reason is left over, and most commands of this program, kubectl and Helm are run', () => {
    const unused = NOT_RUN.filter(({ pattern }) => !commands.some(({ command }) => pattern.test(command)));
    expect(unused.map(({ pattern }) => String(pattern))).toEqual([]);
    const ours = commands.filter(({ command }) => RUN.test(command));
    const run = ours.filter(({ command }) => whyNotRun(command) === undefined);
    expect(run.length / ours.length).toBeGreaterThan(0.6);
  });
});

describe('a page of the documents', () => {
  const root = resolve(import.meta.dirname, '..', '..');

  it.each(['CONTRIBUTING.md', ...PAGES])('%s starts with the task that it is for', (file) => {
    const text = readFileSync(join(root, file), 'utf8').replace(/<!--[\s\S]*?-->/g, '');
    const [first = ''] = text
      .split('\n\n')
      .map((block) => block.trim())
      .filter((block) => block !== '' && !block.startsWith('#'));
    expect(first).toMatch(/^To [a-z]/);
  });
});
