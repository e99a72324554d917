/** What `emulate` refuses before it starts anything. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { runCommand } from '../../../../test/support/run-command.ts';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';

let home: string;
beforeEach(() => {
  home = temporaryFolder();
});

const emulate = (...argv: readonly string[]) =>
  runCommand(['emulate', '--dir', join(home, 'world'), ...argv], { env: { HOME: home, XDG_CACHE_HOME: '' } });

describe('emulate', () => {
  it.each([
    [['--control-plane', 'fake'], '--control-plane is "fake"; it must be simulated or real.'],
    [['--world', 'large'], '--world is "large"; it must be small or demo.'],
    [['--speed', '0'], '--speed is "0"; it must be a whole number from 1.'],
    [['--kube-port', 'x'], '--kube-port is "x"; it must be a whole number from 1.'],
    [['--nonsense'], "Unknown option '--nonsense'; see emulate --help."],
    [['--control-plane', 'real', '--speed', '10'], 'a real control plane knows only real time'],
    [['--control-plane', 'real', '--managed-autoscaler'], '--managed-autoscaler cannot be used with --control-plane real'],
  ])('refuses %j', async (argv, sentence) => {
    const { code, out, err } = await emulate(...argv);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(sentence);
    expect(existsSync(join(home, 'world'))).toBe(false);
  });

  it('without the programs of a real control plane says how to get them, and starts nothing', async () => {
    const { code, out, err } = await emulate('--control-plane', 'real', '--speed', '1');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^No real control plane was found\. KUBEBUILDER_ASSETS is not set\. .* Either put .* Or, .*--build-only\n$/);
    expect(existsSync(join(home, 'world'))).toBe(false);
  });

  it('names the choice in its help', async () => {
    const { code, out } = await emulate('--help');
    expect(code).toBe(0);
    expect(out).toContain('--control-plane NAME');
  });
});
