/** The fixes that `doctor` prints, run as printed with Azure's CLI: each ends its finding. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { AzureCli } from './azure-cli.ts';
import { givenProgram } from '../given.ts';
import { givenAzureCli } from './find-azure-cli.ts';

const POOL = { vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 5 };

interface Finding {
  readonly area: string;
  readonly status: string;
  readonly fix?: string;
}

let cli: AzureCli | undefined;
afterEach(async () => {
  await cli?.stop();
  cli = undefined;
});

/** What the command finds wrong. */
async function findings({ dir, world }: AzureCli): Promise<readonly Finding[]> {
  const rules = ['label:cluster-autoscaler-enabled=true', 'label:team=a'].map((rule) => `--node-group-auto-discovery=${rule}`);
  const args = [givenProgram(), 'doctor', '--json', `--cloud-config=${join(dir, 'world', 'azure.json')}`, ...rules];
  const env = await world.environment(join(dir, 'world'));
  // The exit code is 1 if a check failed.
  const text = await new Promise<string>((done) => void execFile(process.execPath, args, { env }, (_error, out) => done(out)));
  const { checks } = JSON.parse(text) as { readonly checks: readonly Finding[] };
  return checks.filter(({ status }) => status === 'failed' || status === 'warning');
}

describe.skipIf(givenAzureCli() === undefined)('the fixes of doctor', () => {
  it("end its findings when Azure's CLI runs them", async () => {
    const pools = [
      { ...POOL, name: 'general', managedAutoscaler: true },
      { ...POOL, name: 'memory' },
    ];
    cli = await AzureCli.signedIn({ pools });
    const { world } = cli;
    // A write to the scale set, which AKS does not see.
    world.raise({ foreignScale: { pool: 'memory', to: 3 } });
    const found = await findings(cli);
    expect(found.map(({ area, fix }) => [area, fix?.split(' ').slice(0, 4).join(' ')])).toEqual([
      ['pool', 'az aks nodepool update'],
      ['pool', 'az aks nodepool scale'],
      ['config', 'az tag update --operation'],
    ]);
    const set = world.pool('memory').name;
    const named = `$(az vmss list -g ${world.spec.nodeResourceGroup} --query "[?contains(name,'${set}')].name" -o tsv)`;
    await cli.must(found.map(({ fix = '' }) => fix.replace('SCALE_SET', named)).join('\n'));
    expect(await findings(cli)).toEqual([]);
    expect(world.pool('memory').capacity).toBe(3);
  });
});
