/** The command that `doctor --experiment` prints for the case that it is killed, run with Azure's CLI after it was killed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { AzureCli } from './azure-cli.ts';
import { givenAzureCli } from './find-azure-cli.ts';

const POOL = { vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 3 };

let cli: AzureCli | undefined;
afterEach(async () => {
  await cli?.stop();
  cli = undefined;
});

describe.skipIf(givenAzureCli() === undefined)('the experiment of doctor, killed after it has added a node', () => {
  it.each([
    ['sets', 'az vmss delete-instances', 'az vmss list-instances -g $NODES -n $SET --query "[-1].instanceId" -o tsv'],
    [
      'vms',
      'az aks nodepool delete-machines',
      'az aks machine list -g $GROUP --cluster-name $CLUSTER --nodepool-name vms --query "[-1].name" -o tsv',
    ],
  ])('has printed the command that deletes it from the pool %s', async (name, verb, newest) => {
    const pools = [
      { ...POOL, name: 'sets' },
      { ...POOL, name: 'vms', kind: 'vms-pool' as const },
    ];
    cli = await AzureCli.signedIn({ pools });
    cli.addAutoscaler();
    const { world } = cli;
    const { nodeResourceGroup, clusterResourceGroup, clusterName } = world.spec;
    const variables = { NODES: nodeResourceGroup, GROUP: clusterResourceGroup, CLUSTER: clusterName };
    const settings = `--cloud-config=${join(cli.dir, 'world', 'azure.json')} --node-group-auto-discovery=label:cluster-autoscaler-enabled=true`;
    await cli.must(
      `aks-autoscaler doctor --experiment ${name} --yes ${settings} 2> errors & EXPERIMENT=$!
until grep -q INSTANCE errors; do sleep 0.1; done
sleep 2; kill -9 $EXPERIMENT`,
      variables,
    );
    await world.until(() => world.pool(name).ready === 2, { what: 'a second node' });
    const [, command = ''] = /delete the newest one:\n {2}(az .* INSTANCE)\n/.exec(readFileSync(join(cli.dir, 'errors'), 'utf8')) ?? [];
    expect(command).toMatch(new RegExp(`^${verb} `));
    const set = 'SET=$(az vmss list -g $NODES --query "[].name | [0]" -o tsv)';
    await cli.must(`${set}\nINSTANCE=$(${newest})\n${command.replace('INSTANCE', '$INSTANCE')}`, variables);
    await world.until(() => world.pool(name).nodes === 1, { what: 'one node again' });
    expect(world.pool(name)).toMatchObject({ capacity: 1, instances: 1, ready: 1 });
  });
});
