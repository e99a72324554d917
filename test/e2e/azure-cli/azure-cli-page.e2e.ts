/** The page about Azure's CLI as a client of a world: each of its lines, in order, in one shell, and what else it says that works. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { AzureCli } from './azure-cli.ts';
import { givenAzureCli } from './find-azure-cli.ts';

const PAGE = resolve(import.meta.dirname, '..', '..', '..', 'world', 'docs', 'clients', 'azure-cli.md');

let cli: AzureCli | undefined;
afterEach(async () => {
  await cli?.stop();
  cli = undefined;
});

function linesOfPage(): readonly string[] {
  const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
  return blocks.flatMap((block) => block.trim().split('\n')).filter((line) => !line.startsWith('npx '));
}

/** Commands that the page's list of what works stands for, and that no other case runs. The first words are on the page. */
const LISTED: readonly (readonly [onPage: RegExp, command: string])[] = [
  [/`account`/, 'az account list'],
  [/`account`/, 'az account get-access-token --query expiresOn'],
  [/`group list` and `show`/, 'az group show -n $GROUP'],
  [/`resource list` and `show`/, 'az resource show --ids $CLUSTER_ID'],
  [/`provider list`/, 'az provider list --query "[].namespace"'],
  [/`tag list`/, 'az tag list --resource-id $CLUSTER_ID'],
  [/`get-versions`/, 'az aks get-versions -l $REGION'],
  [/`get-upgrades`/, 'az aks get-upgrades $NAMED'],
  [/`aks nodepool`/, 'az aks nodepool get-upgrades $POOL'],
  [/`update` of tags/, 'az aks update $NAMED --tags owner=me'],
  [/`upgrade`/, 'az aks upgrade $NAMED --kubernetes-version $NEWER --control-plane-only --yes'],
  [/`aks nodepool`/, 'az aks nodepool upgrade $POOL --kubernetes-version $NEWER --yes'],
  [/`aks nodepool`/, 'az aks nodepool upgrade $POOL --node-image-only --yes'],
  [/`aks machine`/, 'az aks machine list -g $GROUP --cluster-name $CLUSTER --nodepool-name general'],
  [/`stop`/, 'az aks stop $NAMED'],
  [/`start`/, 'az aks start $NAMED'],
  [/`list-skus`/, 'az vmss list-skus -g $NODES -n $SET'],
  [/`list-skus`/, 'az vm list-skus -l $REGION --size Standard_D4s_v5'],
  [/`list-sizes`/, 'az vm list-sizes -l $REGION'],
  [/`list-usage`/, 'az vm list-usage -l $REGION'],
  [/`identity`/, 'az identity list'],
  [/`role definition`/, 'az role definition list --name Contributor'],
  [/`role assignment`/, 'az role assignment list --all'],
  [/`network vnet list`/, 'az network vnet list -g $NODES'],
  [/`lock list`/, 'az lock list -g $NODES'],
  [/`monitor activity-log list`/, 'az monitor activity-log list --resource-id $SET_ID --offset 1h'],
];

describe.skipIf(givenAzureCli() === undefined)("the page about Azure's CLI", () => {
  it('lists what works: each kind is run', async () => {
    const text = readFileSync(PAGE, 'utf8').split('## What works')[1] ?? '';
    for (const [onPage] of LISTED) expect(text).toMatch(onPage);
    cli = await AzureCli.signedIn();
    const { world } = cli;
    const { clusterResourceGroup: group, clusterName: cluster, nodeResourceGroup, location } = world.spec;
    const variables = {
      GROUP: group,
      CLUSTER: cluster,
      NODES: nodeResourceGroup,
      REGION: location,
      NAMED: `-g ${group} -n ${cluster}`,
      POOL: `-g ${group} --cluster-name ${cluster} -n general`,
    };
    const found = `CLUSTER_ID=$(az aks show $NAMED --query id -o tsv)
SET=$(az vmss list -g $NODES --query "[?contains(name,'general')].name" -o tsv)
SET_ID=$(az vmss show -g $NODES -n $SET --query id -o tsv)
NEWER=$(az aks get-upgrades $NAMED --query "controlPlaneProfile.upgrades[0].kubernetesVersion" -o tsv)`;
    const out = await cli.must([found, ...LISTED.map(([, command]) => `${command} -o json`)].join('\n'), variables);
    expect(out).toContain('"owner": "me"');
    const pool = await cli.must(
      'az aks nodepool show $POOL --query "[currentOrchestratorVersion,powerState.code,count]" -o tsv',
      variables,
    );
    expect(pool.trim().split(/\s+/)).toEqual([expect.not.stringMatching(/^1\.33\.2$/), 'Running', '1']);
    expect(world.journal().filter(({ loud }) => loud !== undefined)).toEqual([]);
  });

  it('works line by line, and the pools have the sizes that it asks for', async () => {
    cli = await AzureCli.start();
    const lines = linesOfPage();
    expect(lines.length).toBeGreaterThan(15);
    const out = await cli.must(lines.join('\n'));
    expect(out).toContain('Pay-As-You-Go');
    expect(cli.world.pool('general')).toMatchObject({ capacity: 3, ready: 3 });
    expect(cli.world.pool('memory').capacity).toBe(2);
    expect(existsSync(join(cli.dir, 'world', 'config'))).toBe(true);
    // Each change has its writer in the journal, and no request was unknown.
    const changed = cli.world.journal().filter(({ method }) => method === 'PUT' || method === 'PATCH');
    expect(changed.map(({ route }) => route)).toEqual(
      expect.arrayContaining([
        'PUT managedClusters/{cluster}/agentPools/{pool}',
        expect.stringContaining('virtualMachineScaleSets/{name}'),
      ]),
    );
    expect(cli.world.journal().filter(({ loud }) => loud !== undefined)).toEqual([]);
  });
});
