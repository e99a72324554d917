/** The `az` commands of the documents, of the script that `init` writes and of the fixes that `doctor` prints, as they stand there. */
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { documentCommands } from '../../support/document-commands.ts';
import { DOCUMENTS } from '../../support/documents.ts';
import { AzureCli } from './azure-cli.ts';
import { givenAzureCli } from './find-azure-cli.ts';

const ROOT = resolve(import.meta.dirname, '..', '..', '..');
const MAIN = join(ROOT, 'src', 'cli', 'main.ts');
const INSTALL = 'docs/install-on-aks.md';
/** Makes a cluster of a real subscription and asks it what no world knows. */
const FIRST_HOUR = 'docs/first-hour.md';
const SCALE_SET = /\/virtualMachineScaleSets\//i;

let cli: AzureCli | undefined;
afterEach(async () => {
  await cli?.stop();
  cli = undefined;
});

/** Programs of a person's machine that this suite does not test, and ours. */
async function begin(): Promise<AzureCli> {
  cli = await AzureCli.signedIn();
  for (const [name, text] of [
    ['helm', 'exit 0'],
    ['kubectl', 'exit 0'],
    ['aks-autoscaler', `exec ${process.execPath} --disable-warning=ExperimentalWarning ${MAIN} "$@"`],
  ] as const) {
    writeFileSync(join(cli.dir, name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(cli.dir, name), 0o755);
  }
  symlinkSync(join(ROOT, 'deploy'), join(cli.dir, 'deploy'));
  return cli;
}

interface Assigned {
  readonly roleDefinitionName: string;
  readonly scope: string;
}

/** The end of each role's name is the subscription. */
async function rolesOf({ spec }: AzureCli['world'], shell: AzureCli): Promise<readonly string[]> {
  const principal = `$(az identity show -g ${spec.clusterResourceGroup} -n aks-autoscaler --query principalId -o tsv)`;
  const assigned = (await shell.json(`az role assignment list --all --assignee-object-id ${principal}`)) as readonly Assigned[];
  const place = (scope: string): string => scope.split('/').at(-1) ?? '';
  return assigned
    .map(({ roleDefinitionName, scope }) => `${roleDefinitionName.replace(`-${spec.subscriptionId}`, '')} on ${place(scope)}`)
    .toSorted();
}

function expectedRoles({ spec }: AzureCli['world']): readonly string[] {
  return [
    `aks-autoscaler-nodes on ${spec.nodeResourceGroup}`,
    `aks-autoscaler-pools-read on ${spec.clusterResourceGroup}`,
    `aks-autoscaler-subscription on ${spec.subscriptionId}`,
  ];
}

describe.skipIf(givenAzureCli() === undefined)("Azure's CLI", () => {
  it('installs as the page about AKS says', async () => {
    const shell = await begin();
    const { world } = shell;
    const text = readFileSync(join(ROOT, INSTALL), 'utf8');
    const blocks = [...text.matchAll(/^```\n([\s\S]*?)^```/gm)]
      .flatMap(([, block = '']) => (/\baz /.test(block) ? [block] : []))
      .map((block) =>
        block
          .replace('GROUP=shop CLUSTER=shop', `GROUP=${world.spec.clusterResourceGroup} CLUSTER=${world.spec.clusterName}`)
          .replace(/^aks-autoscaler init.*$|^az aks \.\.\.$|^\$EDITOR.*$|^(?:ba)?sh install\.sh.*$/gm, ''),
      );
    await shell.must(blocks.slice(0, -1).join('\n'));
    // The daemon has moved the scale set since: the last block brings AKS's count in step.
    world.raise({ foreignScale: { pool: 'general', to: 4 } });
    const variables = blocks.find((block) => block.includes('NODES=')) ?? '';
    await shell.must([variables, ...blocks.slice(-1)].join('\n'));
    expect(await rolesOf(world, shell)).toEqual(expectedRoles(world));
    const pool = `-g ${world.spec.clusterResourceGroup} --cluster-name ${world.spec.clusterName} -n general`;
    expect(await shell.json(`az aks nodepool show ${pool} --query [count,tags.max]`)).toEqual([4, '10']);
    expect(world.pool('general').capacity).toBe(4);
  });

  it('runs the script of init, and the pools have its tags', async () => {
    const shell = await begin();
    const { spec } = shell.world;
    const sign = { IMAGE: 'registry/image' };
    const arguments_ = `--resource-group ${spec.clusterResourceGroup} --name ${spec.clusterName} --subscription ${spec.subscriptionId}`;
    await shell.must(`aks-autoscaler init ${arguments_} > install.sh; sh install.sh; sh install.sh write`, sign);
    expect(await rolesOf(shell.world, shell)).toEqual(expectedRoles(shell.world));
    const tags = await shell.json(
      `az vmss list -g ${spec.nodeResourceGroup} --query "[?tags.\\"aks-managed-poolName\\"=='memory'].tags | [0]"`,
    );
    expect(tags).toMatchObject({ 'cluster-autoscaler-enabled': 'true', min: '0', max: '10' });
  });

  it('runs the commands of runbooks and pages, with names in the places of their placeholders', async () => {
    const shell = await begin();
    const { world } = shell;
    const { spec } = world;
    const set = await shell.must(`az vmss list -g ${spec.nodeResourceGroup} --query "[?contains(name,'general')].name" -o tsv`);
    const names: readonly (readonly [RegExp, string])[] = [
      [/\bNODE_RESOURCE_GROUP\b|\$NODES\b/g, spec.nodeResourceGroup],
      [/\bSCALE_SET\b/g, set.trim()],
      [/\bGROUP\b/g, spec.clusterResourceGroup],
      [/\bCLUSTER\b/g, spec.clusterName],
      [/\bPOOL\b/g, 'general'],
      [/\bCAPACITY\b/g, '3'],
      [/\bREGION\b/g, spec.location],
      [/\bSIZE\b/g, 'Standard_D4s_v5'],
    ];
    const inline = DOCUMENTS.filter((document) => document !== FIRST_HOUR).flatMap((document) =>
      [...readFileSync(join(ROOT, document), 'utf8').matchAll(/`(az [^`\n]* -[gl] [^`\n]+)`/g)].map(([, command = '']) => command),
    );
    const fenced = documentCommands().flatMap(({ document, command }) =>
      command.startsWith('az ') && ![INSTALL, FIRST_HOUR].includes(document) && !document.includes('clients') ? [command] : [],
    );
    const commands = [...new Set([...fenced, ...inline])].map((command) =>
      names.reduce((line, [place, name]) => line.replaceAll(place, name), command),
    );
    expect(commands.length).toBeGreaterThan(7);
    await shell.must(commands.join('\n'));
    // The runbook about differing counts sets AKS's count.
    expect(world.pool('general').capacity).toBe(3);
    expect(world.journal().filter(({ path, status }) => SCALE_SET.test(path) && status >= 400)).toEqual([]);
  });
});
