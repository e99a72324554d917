import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Check } from '../../../src/tools/doctor/check.ts';
import { realSimClock } from '../../../world/simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../../world/simulator/world.ts';
import type { WorldSpec } from '../../../world/simulator/base/world-spec.ts';
import { aPool, budget, deployment, worldOf } from '../../scenarios/support.ts';
import { runCommand } from '../../support/run-command.ts';
import { CLIENT, clientEnvironment, writeClientFiles } from '../../../world/lab/client-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

const GOOD: WorldSpec = worldOf([aPool({ name: 'general' })]);

interface Visit {
  readonly code: number;
  readonly text: string;
  readonly checks: readonly Check[];
}

/** A doctor's visit to a world like this. */
async function visit(
  spec: WorldSpec = GOOD,
  {
    argv = [],
    env: more = {},
    asJson = true,
  }: { readonly argv?: readonly string[]; readonly env?: Readonly<Record<string, string>>; readonly asJson?: boolean } = {},
): Promise<Visit> {
  world ??= await startWorld({ spec, clock: realSimClock(1_000), client: CLIENT, token: 'a-token' });
  const dir = temporaryFolder();
  await writeClientFiles(dir, world);
  const env = { ...clientEnvironment(dir, world), KUBECONFIG: join(dir, 'kubeconfig'), ...more };
  const flags = argv.length > 0 ? argv : ['--node-group-auto-discovery=label:cluster-autoscaler-enabled=true'];
  const { code, out, err } = await runCommand(['doctor', ...flags, ...(asJson ? ['--json'] : [])], { env });
  const text = out + err;
  const answer = asJson ? (JSON.parse(text) as { readonly checks: readonly Check[] }) : { checks: [] };
  return { code, text, checks: answer.checks };
}

const bad = ({ checks }: Visit): readonly Check[] => checks.filter(({ status }) => status === 'failed' || status === 'warning');

describe('doctor', () => {
  it('of a healthy cluster finds nothing, writes nothing, and ends with 0', async () => {
    const seen = await visit();
    expect(bad(seen)).toEqual([]);
    expect(seen.code).toBe(0);
    const areas = new Set(seen.checks.filter(({ status }) => status === 'ok').map(({ area }) => area));
    expect([...areas].sort()).toEqual(['budget', 'config', 'identity', 'kubernetes', 'pool', 'quota', 'rbac', 'role', 'subnet']);
    const calls = world?.arm.control.journal().filter(({ principal }) => principal === CLIENT.clientId) ?? [];
    expect(calls.filter(({ route }) => !route.startsWith('GET'))).toEqual([]);
    expect(calls.every(({ status }) => status === 200)).toBe(true);
  });

  it('prices: reads one of the price list, and says what an unreachable one means', async () => {
    const list = () => [
      '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
      `--retail-prices-endpoint=${world?.arm.url}/api/retail/prices`,
    ];
    await visit();
    const prices = ({ checks }: Visit) => checks.filter(({ area }) => area === 'prices');
    const [found] = prices(await visit(GOOD, { argv: list() }));
    expect(found).toMatchObject({ status: 'ok', message: expect.stringMatching(/lists 0\.\d+ USD an hour for Standard_/) });
    world?.arm.control.addFault({ id: 'list', match: { pathGlob: '/api/retail/prices' }, effect: { kind: 'answer', status: 503 } });
    const seen = await visit(GOOD, { argv: list() });
    expect(seen.code).toBe(0);
    expect(prices(seen)).toMatchObject([{ status: 'warning', message: expect.stringContaining('decisions are the same') }]);
  });

  it('prints a line per check for people', async () => {
    const { text, code } = await visit(worldOf([aPool({ name: 'general' })], { forbidden: ['update nodes'] }), { asJson: false });
    expect(code).toBe(1);
    expect(text).toMatch(
      /^1 problem, 0 warnings, \d+ checks passed, \d+ skipped\nok {7}identity {4}signed in to Azure by client-secret as application aaaaaaaa-/,
    );
    expect(text).toContain('failed   rbac        missing permission: update nodes\n');
    expect(text).toContain('fix: kubectl create clusterrole aks-autoscaler-update-nodes --verb=update --resource=nodes');
    expect(text).not.toContain(CLIENT.clientSecret);
  });

  it.each([
    [4, 'AKS counts 1, the scale set has 4: the next AKS operation on agent pool general deletes 3 nodes without a drain'],
    [0, 'AKS counts 1, the scale set has 0: the next AKS operation on agent pool general creates 1 nodes that no pod needs'],
  ])("pool: AKS's own count is not the capacity %i", async (to, message) => {
    world = await startWorld({ spec: GOOD, clock: realSimClock(1_000), client: CLIENT, token: 'a-token' });
    world.arm.control.raise({ foreignScale: { pool: 'general', to } });
    const seen = await visit();
    const found = bad(seen).filter((check) => check.message.includes('AKS counts'));
    expect(found).toEqual([
      {
        area: 'pool',
        status: 'warning',
        message: expect.stringContaining(message) as unknown,
        fix: expect.stringMatching(
          new RegExp(`^az aks nodepool scale -g \\S+ --cluster-name \\S+ -n general --node-count ${to}$`),
        ) as unknown,
      },
    ]);
    expect(seen.code).toBe(0);
  });

  it("pool: without the name of the cluster, AKS's counts are said to be unknown", async () => {
    const seen = await visit(GOOD, { env: { CLUSTER_NAME: '', ARM_CLUSTER_RESOURCE_GROUP: '' } });
    expect(seen.checks.filter(({ message }) => message.includes("AKS's own counts"))).toMatchObject([{ area: 'pool', status: 'skipped' }]);
  });

  it('a wrong configuration ends with 2, each mistake a line', async () => {
    const { code, checks } = await visit(GOOD, { argv: ['--scan-interval=never', '--nodes=5:1:x'] });
    expect(code).toBe(2);
    expect(checks.map(({ area, status }) => `${area} ${status}`)).toEqual(['config failed', 'config failed']);
  });

  it.each([
    [
      'a wrong secret',
      { ARM_CLIENT_SECRET: 'another' },
      'the client secret is wrong (AADSTS7000215)',
      `az ad sp credential reset --id ${CLIENT.clientId}`,
    ],
    [
      'a token file that is away',
      { ARM_CLIENT_SECRET: '', AZURE_CLIENT_ID: CLIENT.clientId, AZURE_FEDERATED_TOKEN_FILE: '/nowhere/token' },
      '/nowhere/token',
      '--subject system:serviceaccount:kube-system:aks-autoscaler',
    ],
    [
      'a certificate that is away',
      { ARM_CLIENT_SECRET: '', ARM_CLIENT_CERT_PATH: '/nowhere/cert.pem' },
      '/nowhere/cert.pem',
      '--append --cert @/nowhere/cert.pem',
    ],
    [
      'a sign-in service that is not there',
      { AZURE_AUTHORITY_HOST: 'https://255.255.255.255' },
      'did not respond',
      'curl -v https://255.255.255.255',
    ],
  ])('identity: %s', async (_, env, sentence, fix) => {
    const seen = await visit(GOOD, { env });
    const [first, ...rest] = bad(seen);
    expect(first).toMatchObject({ area: 'identity', status: 'failed' });
    expect(first?.message).toContain(sentence);
    expect(first?.fix).toContain(fix);
    // Nothing else is asked of Azure; the cluster is looked at all the same.
    expect(rest).toEqual([]);
    expect(seen.checks.some(({ area }) => area === 'rbac')).toBe(true);
    expect(seen.code).toBe(1);
  });

  it('role: an action that no role allows, each on a line, as real requests would meet it', async () => {
    const spec = worldOf([aPool({ name: 'general' })], {
      roleActions: ['*/read', 'Microsoft.Compute/virtualMachineScaleSets/write'],
    });
    const seen = await visit(spec);
    expect(bad(seen).map(({ message }) => message)).toEqual([
      `Microsoft.Compute/virtualMachineScaleSets/delete/action is not allowed on resource group ${spec.nodeResourceGroup}`,
    ]);
    expect(bad(seen)[0]?.fix).toMatch(
      /^az role assignment create --assignee-object-id [0-9a-f-]{36} --role aks-autoscaler-nodes-[0-9a-f-]{36} --scope \/subscriptions\//,
    );
    expect(seen.code).toBe(1);
  });

  it.each([
    ['vmss', ['Microsoft.Compute']],
    ['agentPool', ['Microsoft.Compute', 'Microsoft.ContainerService']],
  ])('role: the end of writes that cannot be read, written at the %s', async (writePath, providers) => {
    const sets = 'Microsoft.Compute/virtualMachineScaleSets';
    const pools = 'Microsoft.ContainerService/managedClusters/agentPools';
    const roleActions = [`${sets}/*`, `${pools}/*`, 'Microsoft.Network/*', 'Microsoft.Insights/*', 'Microsoft.Authorization/*'];
    const reads = ['Microsoft.Compute/virtualMachines/read', 'Microsoft.Compute/skus/read', 'Microsoft.Compute/locations/usages/read'];
    const spec = worldOf([aPool({ name: 'general' })], { roleActions: [...roleActions, ...reads] });
    const { checks, code } = await visit(spec, { env: { AZURE_WRITE_PATH: writePath } });
    const ends = checks.filter(({ message }) => message.includes('/operations/read'));
    expect(ends.map(({ status, message }) => [status, message.split('/')[0]])).toEqual(providers.map((name) => ['warning', name]));
    for (const { fix } of ends)
      expect(fix).toMatch(/--role aks-autoscaler-subscription-[0-9a-f-]{36} --scope \/subscriptions\/[0-9a-f-]+$/);
    expect(code).toBe(0);
  });

  it.each([
    [
      'warning',
      ['Microsoft.Compute/virtual*', 'Microsoft.Compute/skus/*', 'Microsoft.Compute/locations/*'],
      'not allowed on capacity reservation group crg',
    ],
    ['ok', ['Microsoft.Compute/*'], 'allowed on capacity reservation group crg'],
  ])('role: the reads of a capacity reservation group that a pool names are checked: %s', async (status, compute, text) => {
    const spec = worldOf([aPool({ name: 'general', capacityReservationGroup: 'crg' })], {
      roleActions: ['Microsoft.Network/*', 'Microsoft.Insights/*', 'Microsoft.Authorization/*', 'Microsoft.ContainerService/*', ...compute],
      capacityReservationGroups: [{ name: 'crg', reservations: [] }],
    });
    const { checks, code } = await visit(spec);
    expect(checks.filter(({ message }) => message.includes(text)).map((check) => check.status)).toEqual([status]);
    expect(code).toBe(0);
  });

  it.each([
    ['vmss', 'skipped'],
    ['agentPool', 'warning'],
  ])('role: a right on what sets stand on, where sizes are written at the %s, is %s', async (writePath, status) => {
    const spec = worldOf([aPool({ name: 'general' })], {
      kubeletIdentity: 'shop-agentpool',
      roleActions: ['*/read', 'Microsoft.Compute/*', 'Microsoft.ContainerService/*'],
    });
    const { checks, code } = await visit(spec, { env: { AZURE_WRITE_PATH: writePath } });
    const linked = checks.filter(({ message }) => message.includes('LinkedAuthorizationFailed'));
    expect(linked.map(({ status: is, message }) => [is, message.split(' is not')[0]])).toEqual([
      [status, 'Microsoft.Network/virtualNetworks/subnets/join/action'],
      ['skipped', 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action'],
    ]);
    const fixes = linked.map(({ message, fix }) => fix ?? message);
    expect(fixes[0]).toMatch(
      /az role assignment create --assignee-object-id \S+ --role 'Network Contributor' --scope \/subscriptions\/.*aks-subnet$/,
    );
    expect(fixes[1]).toMatch(/--role 'Managed Identity Operator' --scope \/subscriptions\/.*shop-agentpool$/);
    expect(code).toBe(0);
  });

  it('role: without any right everything that cannot be read says so, and nothing is made up', async () => {
    const seen = await visit(worldOf([aPool({ name: 'general' })], { roleActions: [] }));
    const messages = bad(seen).map(({ message }) => message);
    expect(messages.filter((text) => text.includes('is not allowed'))).toHaveLength(8);
    expect(messages.some((text) => text.startsWith('the pools cannot be read'))).toBe(true);
    expect(messages.some((text) => text.includes('Microsoft.Compute/skus/read failed'))).toBe(true);
    expect(seen.checks.some(({ area, status }) => area === 'pool' && status === 'ok')).toBe(false);
  });

  it.each([
    [['*/read', 'Microsoft.Compute/*'], 'ok'],
    [['Microsoft.Compute/*'], 'warning'],
  ])('role: with %j the right to the activity log is %s, if names are looked up there', async (roleActions, status) => {
    const spec = worldOf([aPool({ name: 'general' })], { roleActions });
    const { checks } = await visit(spec, { env: { AZURE_ACTIVITY_LOG: 'true' } });
    const [found, ...others] = checks.filter(({ message }) => message.includes('Microsoft.Insights/eventtypes/values/Read'));
    expect([found?.status, others]).toEqual([status, []]);
    if (status === 'warning') expect(found?.fix).toMatch(/--role 'Monitoring Reader' --scope \/subscriptions\/.*\/resourceGroups\/MC_/);
    const without = await visit(spec);
    expect(without.checks.some(({ message }) => message.includes('eventtypes'))).toBe(false);
  });

  it('role: writers of pools of type VirtualMachines are in the log of the cluster, too', async () => {
    const spec = worldOf([aPool({ name: 'machines', kind: 'vms-pool' })], {
      roleActions: ['Microsoft.Compute/*', 'Microsoft.ContainerService/*'],
    });
    const { checks } = await visit(spec, { env: { AZURE_ACTIVITY_LOG: 'true' } });
    const groups = checks.filter(({ message }) => message.includes('eventtypes')).map(({ fix }) => fix?.split('/resourceGroups/')[1]);
    expect(groups).toEqual([spec.nodeResourceGroup, spec.clusterResourceGroup]);
  });

  it('pools: one that is not there, an autoscale rule, and a rule that selects nothing', async () => {
    const spec = worldOf([aPool({ name: 'general' })], {
      autoscaleRules: [
        { name: 'cpu-rule', pool: 'general', enabled: true },
        { name: 'old-rule', pool: 'general', enabled: false },
      ],
    });
    const seen = await visit(spec, {
      argv: [
        '--nodes=0:3:missing',
        '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
        '--node-group-auto-discovery=label:team=nobody',
      ],
    });
    const found = bad(seen).map(({ area, status, message, fix }) => [
      area,
      status,
      message.split(';')[0],
      fix?.split(' ').slice(0, 4).join(' '),
    ]);
    expect(found).toEqual([
      ['pool', 'failed', 'missing is configured, but does not exist', 'az vmss list -g'],
      [
        'pool',
        'failed',
        expect.stringMatching(/^aks-general-\d+-vmss: the Azure Monitor rule cpu-rule changes its capacity as well$/),
        'az monitor autoscale update',
      ],
      ['config', 'warning', `discovery[1] (team=nobody) selects no scale set of ${spec.nodeResourceGroup}`, 'az tag update --operation'],
    ]);
  });

  it.each([
    [
      'the name of the cluster',
      ['--v=4'],
      {},
      'az aks nodepool update -g rg-laptop --cluster-name laptop -n POOL --tags cluster-autoscaler-enabled=true cluster-autoscaler-name=laptop min=1 max=10 # and its present tags, which --tags replaces',
    ],
    [
      'a rule alone',
      ['--node-group-auto-discovery=label:team=a'],
      { CLUSTER_NAME: '', ARM_CLUSTER_RESOURCE_GROUP: '' },
      'az tag update --operation merge --tags team=a min=1 max=10 --resource-id "$(az vmss show -g MC_rg-laptop_laptop_westeurope -n SCALE_SET --query id -o tsv)"',
    ],
    ['neither', ['--v=4'], { CLUSTER_NAME: '', ARM_CLUSTER_RESOURCE_GROUP: '' }, undefined],
  ])('pools: none is selected by %s', async (_what, argv, env, fix) => {
    const seen = await visit(worldOf([aPool({ name: 'general' })], { discoveryTags: {} }), { argv, env });
    const [found] = bad(seen).filter(({ area }) => area === 'pool');
    expect([found?.status, found?.message.split(';')[0], found?.fix]).toEqual(['failed', 'no node group found', fix]);
  });

  it.each([
    ['vms-pool', undefined, 1],
    ['vmss-uniform', 'agentPool', 1],
    ['vmss-uniform', undefined, 0],
  ] as const)(
    'pools: agent pools without an entity tag, as AKS had them until 2025 (%s, write path %s)',
    async (kind, writePath, warnings) => {
      const spec = worldOf([aPool({ name: 'general', kind })]);
      world = await startWorld({ spec, clock: realSimClock(1_000), client: CLIENT, token: 'a-token' });
      const properties = {
        mode: 'User',
        tags: { ...spec.discoveryTags, min: '0', max: '9' },
        ...(kind === 'vms-pool'
          ? { type: 'VirtualMachines', virtualMachinesProfile: { scale: { manual: [{ size: 'Standard_D4s_v5', count: 1 }] } } }
          : { type: 'VirtualMachineScaleSets', count: 1 }),
      };
      const body = { value: [{ name: 'general', properties }] };
      world.arm.control.addFault({
        id: 'list',
        match: { method: 'GET', pathGlob: '**/agentPools' },
        effect: { kind: 'answer', status: 200, body },
      });
      const { checks } = await visit(spec, { env: writePath === undefined ? {} : { AZURE_WRITE_PATH: writePath } });
      expect(checks.filter(({ message }) => message.includes('agent pool without an entity tag'))).toHaveLength(warnings);
    },
  );

  it('pools: nodes that are deleted although they are to be stopped, and pools whose nodes AKS may stop', async () => {
    const stops = { scaleDownMode: 'Deallocate' } as const;
    const pools = [
      aPool({ name: 'good', ...stops }),
      aPool({ name: 'sets' }),
      aPool({ name: 'spot', ...stops, priority: 'Spot' }),
      aPool({ name: 'single', ...stops, kind: 'vms-pool' }),
    ];
    const said = async (env: Readonly<Record<string, string>>): Promise<readonly string[]> =>
      (await visit(worldOf(pools), { env })).checks
        .filter(({ message }) => /not stopped|may stop/.test(message))
        .map(({ message }) => message);
    expect(await said({})).toEqual([expect.stringContaining('its scaleDownMode is Deallocate, so AKS may stop what is deleted')]);
    expect(await said({ AZURE_DEALLOCATE: 'true' })).toEqual([
      expect.stringContaining('Azure may refuse to start a stopped Spot instance'),
    ]);
  });

  it('config: lists that are skipped, and what is seen later for it', async () => {
    const said = async (env: Readonly<Record<string, string>>): Promise<readonly string[]> =>
      (await visit(GOOD, { env })).checks
        .filter(({ message }) => message.startsWith('azure.cache.readOnChange'))
        .map(({ status }) => status);
    expect([await said({}), await said({ AZURE_CACHE_READ_ON_CHANGE: 'true' })]).toEqual([[], ['ok']]);
  });

  it('rules: options and schedules of a pool whose name is misspelt', async () => {
    const dir = temporaryFolder();
    const file = join(dir, 'config.yaml');
    const schedules = 'schedules: { rules: [{ pools: [genral], min: 2 }, { pools: [general], max: 5 }] }';
    const options = 'nodeGroupOptions: [{ name: genral, scaleDownUnneededTime: 1m }, { name: General, scaleDownUnneededTime: 2m }]';
    writeFileSync(file, `${options}\n${schedules}\n`);
    const found = bad(
      await visit(GOOD, { argv: ['--config', file, '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true'] }),
    ).map(({ area, status, message }) => `${area} ${status}: ${message}`);
    expect(found).toEqual([
      'config warning: nodeGroupOptions: node group genral not found; node groups: general, system',
      'config warning: Schedule rule 1 is about no node group',
    ]);
  });

  it('rules: conditions of sick nodes that no node of the pool carries, and devices that none publishes', async () => {
    const file = join(temporaryFolder(), 'config.yaml');
    const conditions = '[{ type: XIDErrors }, { type: MemoryPressure }]';
    writeFileSync(
      file,
      `nodeGroupOptions: [{ name: general, sickNodes: { conditions: ${conditions} }, devices: [{ driver: gpu.example.com }] }]\n`,
    );
    const found = bad(
      await visit(GOOD, { argv: ['--config', file, '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true'] }),
    ).map(({ area, status, message }) => `${area} ${status}: ${message}`);
    expect(found).toEqual([
      expect.stringMatching(/^config warning: no node of general carries XIDErrors, which rules about sick nodes name/),
      expect.stringMatching(/^config warning: devices of gpu.example.com are declared for general, and none of its 1 nodes publishes any/),
    ]);
  });

  it("pools: AKS's own autoscaler over an agent pool", async () => {
    const spec = worldOf([aPool({ name: 'general', managedAutoscaler: true })]);
    const seen = await visit(spec);
    expect(bad(seen)).toEqual([
      expect.objectContaining({
        area: 'pool',
        status: 'failed',
        fix: `az aks nodepool update -g ${spec.clusterResourceGroup} --cluster-name ${spec.clusterName} -n general --disable-cluster-autoscaler`,
      }),
    ]);
  });

  it("pools: a dry run decides about those of AKS's own autoscaler, without tags and flags", async () => {
    const seen = await visit(worldOf([aPool({ name: 'general', managedAutoscaler: true })], { discoveryTags: {} }), {
      argv: ['--dry-run'],
    });
    expect(bad(seen).map(({ message }) => message)).toEqual([]);
    expect(seen.checks.map(({ message }) => message).join()).toContain('general-');
  });

  it('subnet and quota that the pools outgrow', async () => {
    const spec = worldOf([aPool({ name: 'general', max: 40 })], { subnetPrefix: '10.224.0.0/27', quota: { cores: 8 } });
    const seen = bad(await visit(spec));
    expect(seen.map(({ area, status, message }) => `${area} ${status}: ${message}`)).toEqual([
      'subnet warning: subnet aks-subnet has 25 free addresses, but its pools may add 41 more nodes',
      'quota warning: quota cores in westeurope: 8 of 8 vCPUs used',
    ]);
    // Azure refuses `az network vnet subnet update` for a subnet with nodes in it.
    expect(seen[0]?.fix).toMatch(/^lower the maximum of its pools, or use a larger subnet for new ones: /);
  });

  it('subnet of flat networking, where pods take addresses too', async () => {
    const pools = [aPool({ name: 'general', max: 10 })];
    const of = async (addressesPerNode: number): Promise<readonly string[]> => {
      const { checks } = await visit(worldOf(pools, { subnetPrefix: '10.224.0.0/24', addressesPerNode }));
      await world?.stop();
      world = undefined;
      return checks.filter(({ area }) => area === 'subnet').map(({ status, message }) => `${status}: ${message}`);
    };
    expect(await of(1)).toEqual(['ok: subnet aks-subnet has 249 free addresses; its pools may add 11 more nodes']);
    expect(await of(31)).toEqual([
      'warning: subnet aks-subnet has 189 free addresses, but its pools may add 11 more nodes, which take 341 addresses including those of their pods',
    ]);
  });

  it('pools of type VirtualMachines, by rule and by name, with what AKS counts', async () => {
    const spec = worldOf([aPool({ name: 'general', max: 1_001 }), aPool({ name: 'vms', kind: 'vms-pool', count: 2, max: 5 })]);
    const { checks } = await visit(spec);
    const pools = checks.filter(({ area }) => area === 'pool').map(({ status, message }) => `${status}: ${message}`);
    expect(pools).toContain('ok: vms/Standard_D4s_v5 is a VirtualMachines pool of Standard_D4s_v5, 0 to 5 nodes, now 2');
    const above = /^warning: aks-general-\S+: the maximum of 1001 nodes is above the 1000 that AKS allows in one pool; 1000 applies$/;
    expect(pools).toContainEqual(expect.stringMatching(above));
  });

  it('sizes that Azure does not sell to the pool, and restrictions of the subscription', async () => {
    const spot = aPool({ name: 'spot', vmSize: 'Standard_B2s', priority: 'Spot' });
    const found = bad(await visit(worldOf([aPool({ name: 'general' }), spot]))).map(({ message }) => message);
    expect(found).toEqual([expect.stringMatching(/^aks-spot-.*: increases fail now: Azure does not offer Standard_B2s as Spot$/)]);
  });

  it('budgets that can never let a pod go, and no others', async () => {
    world = await startWorld({ spec: GOOD, clock: realSimClock(1_000), client: CLIENT, token: 'a-token' });
    for (const [name, most] of [
      ['stuck', 0],
      ['fine', 1],
    ] as const) {
      world.cluster.apply(deployment({ name, replicas: 2, cpu: '50m' }));
      world.cluster.apply(budget(name, most));
    }
    await expect
      .poll(async () => bad(await visit()).map(({ message }) => message))
      .toEqual([
        'the disruption budget default/stuck never allows an eviction (maxUnavailable is 0); nodes with its pods are unremovable; with the fix, one of its pods may be unavailable at any time',
      ]);
  });

  it('an API server that is away is one line, and Azure is looked at all the same', async () => {
    world = await startWorld({ spec: GOOD, clock: realSimClock(1_000), client: CLIENT, token: 'a-token' });
    world.cluster.control.pause();
    const seen = await visit();
    expect(bad(seen).map(({ area }) => area)).toEqual(['kubernetes']);
    expect(seen.checks.some(({ area, status }) => area === 'pool' && status === 'ok')).toBe(true);
  });

  it.each([
    ['a throttled list', { status: 429, body: { error: { code: 'TooManyRequests', message: 'Slow down.' } } }],
    ['a server error', { status: 500, body: { error: { code: 'InternalServerError', message: 'Oops.' } } }],
  ])('%s of pools is reported as unknown', async (_, answer) => {
    world = await startWorld({ spec: GOOD, clock: realSimClock(1_000), client: CLIENT, token: 'a-token' });
    world.arm.control.addFault({
      id: 'f',
      match: { method: 'GET', pathGlob: '**/virtualMachineScaleSets' },
      effect: { kind: 'answer', ...answer },
    });
    const seen = await visit();
    expect(bad(seen).map(({ message }) => message.split(':')[0])).toEqual(['the pools cannot be read']);
    expect(seen.code).toBe(1);
  });
});
