/** The real credential of the Azure CLI, with a program in its place that answers as az does. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { meet } from '../azure/meeting.ts';

const PATH = process.env['PATH'] ?? '';
let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'az-'));
});
afterEach(() => {
  process.env['PATH'] = PATH;
});
afterAll(() => rm(dir, { recursive: true }));

async function refusal(script: string | undefined): Promise<AutoscalerError> {
  await rm(join(dir, 'az'), { force: true });
  if (script !== undefined) {
    await writeFile(join(dir, 'az'), `#!/bin/sh\n${script}\n`);
    await chmod(join(dir, 'az'), 0o755);
  }
  process.env['PATH'] = script === undefined ? dir : `${dir}:${PATH}`;
  const thrown: unknown = await meet({ credential: { method: 'azure-cli' } }).catch((error: unknown) => error);
  if (thrown instanceof AutoscalerError) return thrown;
  throw new Error('the start was meant to be refused');
}

const fails = (words: string): string => `echo "${words}" >&2; exit 1`;

describe('signing in with the Azure CLI', () => {
  it.each<[string, string | undefined, RegExp]>([
    ['is not there', undefined, /not installed here/],
    ['is not signed in', fails("ERROR: Please run 'az login' to setup account."), /not signed in; run az login/],
    [
      'was signed in too long ago',
      fails('ERROR: AADSTS700082: The refresh token has expired due to inactivity. Please run: az login --scope https://x//.default'),
      /not signed in; run az login/,
    ],
    [
      'knows no such tenant',
      fails("ERROR: The subscription of '0' doesn't exist in cloud 'AzureCloud'."),
      /returned "The subscription of '0'/,
    ],
    ['breaks', fails('Traceback (most recent call last):'), /returned no token; run az account get-access-token/],
    ['says something else', 'echo hello', /returned no token/],
    ['says nothing', 'exit 0', /returned no token/],
  ])('one that %s ends the start with one sentence', async (_what, script, sentence) => {
    const error = await refusal(script);
    expect(error.kind).toBe('auth');
    expect(error.message).toMatch(sentence);
    expect(error.message).toMatch(/^Cannot sign in to Azure for [^\n]+\.$/);
  });

  it('a token that Azure refuses is reported as refused', async () => {
    const error = await refusal(`echo '{"accessToken":"x","expires_on":4102444800}'`);
    expect([error.kind, error.code]).toEqual(['auth', 'InvalidAuthenticationToken']);
    expect(error.message).toContain('the source of the token');
  });
});
