/** The script for clusters whose names mean something to a shell, read by a shell. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { ClusterPool } from '../../../src/tools/doctor/azure/cluster-description.ts';
import { scriptOf } from '../../../src/tools/init/install-script.ts';
import { planInstallation, type InstallationInput } from '../../../src/tools/init/installation.ts';
import { HOSTILE_WORDS } from '../../support/hostile-words.ts';
import { callsOfScript } from '../../support/shell-calls.ts';

const folder = mkdtempSync(join(tmpdir(), 'aks-autoscaler-script-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pool = (part: Partial<ClusterPool>): ClusterPool => ({
  name: 'general',
  kind: 'scale-set',
  isSystem: false,
  count: 1,
  managed: false,
  tags: {},
  ...part,
});

function inputFor(name: string, pools: readonly ClusterPool[] = [pool({ name, managed: true, tags: { owner: name, [`x${name}`]: '' } })]) {
  const facts = { location: name, tenantId: name, oidcIssuer: undefined, hasWorkloadIdentity: false, nodeResourceGroup: name, pools };
  return { facts, subscriptionId: name, resourceGroup: name, clusterName: name } satisfies InstallationInput;
}

/** In the part for the argument: without one, the dry run. */
function callsIn(text: string, ...args: readonly string[]): readonly (readonly string[])[] {
  return callsOfScript({ text, folder, args });
}

describe('the script of an installation', () => {
  it.each(HOSTILE_WORDS)('passes on %j wherever it is a name', (name) => {
    const installation = planInstallation(inputFor(name));
    const script = scriptOf(installation);
    const dry = callsIn(script);
    const values: unknown = parse(readFileSync(join(folder, 'values.yaml'), 'utf8'));
    expect(values).toMatchObject({
      azureClusterName: name,
      azureResourceGroup: name,
      azureLocation: name,
      autoDiscovery: { clusterName: name },
    });
    expect(dry.slice(0, 2)).toEqual([
      ['az', 'aks', 'update', '-g', name, '-n', name, '--enable-oidc-issuer', '--enable-workload-identity'],
      ['az', 'identity', 'create', '-g', name, '-n', 'aks-autoscaler'],
    ]);
    expect(dry.filter((call) => call[2] === 'assignment').map((call) => call.at(-1))).toEqual(installation.roles.map(({ scope }) => scope));
    const update = ['az', 'aks', 'nodepool', 'update', '-g', name, '--cluster-name', name, '-n', name];
    expect(callsIn(script, 'write').slice(0, 2)).toEqual([
      [...update, '--disable-cluster-autoscaler'],
      [
        ...update,
        '--tags',
        `owner=${name}`,
        `x${name}=`,
        'cluster-autoscaler-enabled=true',
        `cluster-autoscaler-name=${name}`,
        'min=1',
        'max=10',
      ],
    ]);
  });

  it('keeps a comment in its line, whatever the names of system pools are', () => {
    const script = scriptOf(planInstallation(inputFor('shop', [pool({ name: 'sys\nreboot', isSystem: true })])));
    expect(script).toContain('System pools stay as they are: sys reboot.\n');
    expect(callsIn(script, 'write').map(([program]) => program)).toEqual(['az', 'helm', 'kubectl', 'kubectl']);
  });

  it.each([
    [5, undefined, 'min=5', 'max=10'],
    [12, undefined, 'min=12', 'max=12'],
    [0, undefined, 'min=0', 'max=10'],
    [5, { min: 2, max: 6 }, 'min=2', 'max=6'],
  ])('a pool of %i nodes with the limits %j gets %s %s: it never becomes smaller by itself', (count, limits, min, max) => {
    const tagged = pool({ count, tags: { Min: '3' }, ...(limits === undefined ? {} : { limits }) });
    const calls = callsIn(scriptOf(planInstallation(inputFor('shop', [tagged]))), 'write');
    expect(calls[0]?.slice(-4)).toEqual(['cluster-autoscaler-enabled=true', 'cluster-autoscaler-name=shop', min, max]);
    expect(calls[0]).not.toContain('Min=3');
  });
});
