/** The `az` commands of the documents, of the script that `init` writes and of the fixes that `doctor` prints, as they stand there. */
import { readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { documentCommands } from '../../support/document-commands.ts';
import { DOCUMENTS } from '../../support/documents.ts';
import { AzureCli } from './azure-cli.ts';
import { givenAzureCli } from './find-azure-cli.ts';

const ROOT = resolve(import.meta.dirname, '..', '..', '..');
const INSTALL = 'docs/install-on-aks.md';
/** Makes a cluster of a real subscription and asks it what no world knows. */
const FIRST_HOUR = 'docs/first-hour.md';
const SCALE_SET = /\/virtualMachineScaleSets\//i;

const begun: AzureCli[] = [];
afterAll(() => Promise.all(begun.map((cli) => cli.stop())));

/** Programs of a person's machine that this suite does not test, and ours. */
async function begin(): Promise<AzureCli> {
  const cli = await AzureCli.signedIn();
  begun.push(cli);
  for (const name of ['helm', 'kubectl']) cli.addProgram(name, 'exit 0');
  cli.addAutoscaler();
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

const OF_POOL = '-g GROUP --cluster-name CLUSTER -n POOL';
const OF_SET = '-g NODE_RESOURCE_GROUP -n SCALE_SET';
/** Commands that a sentence names without the pool or the scale set that it speaks of, and what is added. The first match counts. */
const SHORT: readonly (readonly [form: RegExp, more: string])[] = [
  [/^az aks nodepool scale$/, `${OF_POOL} --node-count 2`],
  [/^az aks nodepool show/, OF_POOL],
  [/^az aks nodepool upgrade --node-image-only$/, OF_POOL],
  [/^az aks get-credentials$/, '-g GROUP -n CLUSTER --file credentials'],
  [/^az vmss list-instances$/, OF_SET],
  [/^az vmss get-instance-view$/, `${OF_SET} --instance-id 0`],
  [/^az login$/, '--identity'],
];
/** No commands, one that no world has, one that needs an operation of minutes, and those of the migration, which has a case of its own. */
const NOT_RUN = /^az (?:aks|monitor metrics|aks nodepool operation-abort|aks nodepool update .*)$/;

/** With what a sentence leaves out, in the order of the documents. @throws Error for a command of another form. */
function shortCommands(): readonly string[] {
  const all = DOCUMENTS.filter((document) => document !== FIRST_HOUR).flatMap((document) =>
    [...readFileSync(join(ROOT, document), 'utf8').matchAll(/`(az [^`\n]*)`/g)].map(([, command = '']) => command),
  );
  const named = [...new Set(all)].filter((command) => !/ -[gl] /.test(command) && !NOT_RUN.test(command));
  return named.map((command) => {
    const [, more] = SHORT.find(([form]) => form.test(command)) ?? [];
    if (more === undefined) throw new Error(`A document names \`${command}\`; say what is added to it, or why it is not run.`);
    return `${command} ${more}`;
  });
}

// Each case has a world of its own, and waits most of its time.
describe.skipIf(givenAzureCli() === undefined).concurrent("Azure's CLI", () => {
  it('goes to this autoscaler and back as the page about the migration says', async () => {
    const cli = await AzureCli.signedIn({
      pools: [{ name: 'general', vmSize: 'Standard_D4s_v5', count: 2, min: 1, max: 3, managedAutoscaler: true }],
    });
    begun.push(cli);
    const { clusterResourceGroup, clusterName } = cli.world.spec;
    const pool = `-g ${clusterResourceGroup} --cluster-name ${clusterName} -n general`;
    const page = readFileSync(join(ROOT, 'docs', 'migrate-from-cluster-autoscaler.md'), 'utf8');
    const steps = [...page.matchAll(/`(az aks nodepool update [^`]+)`/g)].map(([, command = '']) => command);
    const flags = steps.map((step) => /--(?:dis|en)able-cluster-autoscaler/.exec(step)?.[0]);
    expect(flags).toEqual(['--disable-cluster-autoscaler', '--enable-cluster-autoscaler']);
    const shown = (): Promise<unknown> => cli.json(`az aks nodepool show ${pool} --query [enableAutoScaling,minCount,maxCount,count]`);
    expect(await shown()).toEqual([true, 1, 3, 2]);
    await cli.must(`${steps[0] ?? ''} ${pool}`);
    expect(await shown()).toEqual([false, null, null, 2]);
    await cli.must(`${steps[1] ?? ''} ${pool}`);
    expect(await shown()).toEqual([true, 1, 10, 2]);
  });

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
    const short = shortCommands();
    expect(short.length).toBe(SHORT.length + 1);
    await shell.must(short.map((command) => names.reduce((line, [place, name]) => line.replaceAll(place, name), command)).join('\n'));
    await shell.must(`az aks nodepool scale -g ${spec.clusterResourceGroup} --cluster-name ${spec.clusterName} -n general --node-count 3`);
    // The runbook about differing counts sets AKS's count.
    expect(world.pool('general').capacity).toBe(3);
    expect(world.journal().filter(({ path, status }) => SCALE_SET.test(path) && status >= 400)).toEqual([]);
  });
});
