/** The managed cluster as Azure's CLI changes it: tags, profiles, versions and the abort of an operation, with the real client. */
import { beforeEach, describe, expect, it } from 'vitest';
import { aPool, aWorld, MINUTE, startRig, type Rig } from '../simulator/arm/harness.ts';

let rig: Rig;
const cluster = () => rig.aks.managedClusters.get('rg', 'aks');

beforeEach(async () => {
  rig = await startRig(aWorld([aPool('a')]));
});

describe('the cluster document', () => {
  it('has an identity, names and the identity of its kubelets', async () => {
    const seen = await cluster();
    expect(seen).toMatchObject({ kind: 'Base', identity: { type: 'SystemAssigned', tenantId: rig.spec.tenantId } });
    expect(seen.servicePrincipalProfile?.clientId).toBe('msi');
    expect(seen.dnsPrefix).toBe('aks-rg-111111');
    expect(seen.fqdn).toMatch(/^aks-rg-111111-[0-9a-f]{8}\.hcp\.westeurope\.azmk8s\.io$/);
    const kubelets = seen.identityProfile?.['kubeletidentity'];
    expect(kubelets?.resourceId).toMatch(/userAssignedIdentities\/aks-agentpool$/);
    expect(kubelets?.clientId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('keeps what a person switches on, and the issuer stays on', async () => {
    const before = await cluster();
    expect(before.oidcIssuerProfile).toEqual({ enabled: false });
    const write = async (more: object): Promise<void> => {
      await rig.aks.managedClusters.createOrUpdate('rg', 'aks', { ...(await cluster()), ...more }).submitted();
      rig.clock.advance(10 * MINUTE);
    };
    await write({ oidcIssuerProfile: { enabled: true }, securityProfile: { workloadIdentity: { enabled: true } }, tags: { a: 'b' } });
    const after = await cluster();
    expect(after).toMatchObject({ tags: { a: 'b' }, securityProfile: { workloadIdentity: { enabled: true } } });
    const issuer = after.oidcIssuerProfile?.issuerURL ?? '';
    expect(issuer).toMatch(new RegExp(`^https://westeurope\\.oic\\.prod-aks\\.azure\\.com/${rig.spec.tenantId}/[0-9a-f-]{36}/$`));
    expect(after.eTag).not.toBe(before.eTag);
    await write({ oidcIssuerProfile: { enabled: false } });
    expect((await cluster()).oidcIssuerProfile).toEqual({ enabled: true, issuerURL: issuer });
  });
});

describe('versions', () => {
  it('of the region and of the cluster name the same upgrades', async () => {
    const region = await rig.aks.managedClusters.listKubernetesVersions('westeurope');
    const minor = region.values?.find(({ version }) => version === '1.33');
    expect(minor).toMatchObject({ isDefault: true, patchVersions: { '1.33.2': { upgrades: ['1.33.4', '1.34.1', '1.34.3'] } } });
    expect((await rig.aks.managedClusters.listKubernetesVersions('mars')).values).toEqual([]);
    const { controlPlaneProfile, agentPoolProfiles } = await rig.aks.managedClusters.getUpgradeProfile('rg', 'aks');
    expect(controlPlaneProfile).toMatchObject({ kubernetesVersion: '1.33.2' });
    expect(controlPlaneProfile.upgrades?.map(({ kubernetesVersion }) => kubernetesVersion)).toEqual(['1.33.4', '1.34.1', '1.34.3']);
    // Pools follow the control plane.
    expect(agentPoolProfiles).toMatchObject([{ name: 'a', kubernetesVersion: '1.33.2', upgrades: [] }]);
    await expect(rig.aks.managedClusters.getUpgradeProfile('rg', 'other')).rejects.toMatchObject({ statusCode: 404 });
  });
});

describe('tags of the cluster through the Resources provider', () => {
  it('are read, merged and replaced', async () => {
    const sub = `/subscriptions/${rig.spec.subscriptionId}`;
    const path = `${sub}/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/aks/providers/Microsoft.Resources/tags/default?api-version=2021-04-01`;
    const body = (operation: string, tags: object): object => ({ operation, properties: { tags } });
    expect(await rig.call('PATCH', path, { body: body('Merge', { a: 'b' }) })).toMatchObject({ status: 200 });
    rig.clock.advance(10 * MINUTE);
    await rig.call('PATCH', path, { body: body('Merge', { c: 'd' }) });
    rig.clock.advance(10 * MINUTE);
    expect((await rig.call('GET', path)).json).toMatchObject({ properties: { tags: { a: 'b', c: 'd' } } });
    await rig.call('PUT', path, { body: { properties: { tags: { e: 'f' } } } });
    expect((await cluster()).tags).toEqual({ e: 'f' });
    expect((await rig.call('GET', path.replace('/aks/', '/other/'))).status).toBe(404);
  });
});

describe('an abort', () => {
  it('ends an upgrade of the control plane, whose version stays', async () => {
    await rig.aks.managedClusters.createOrUpdate('rg', 'aks', { ...(await cluster()), kubernetesVersion: '1.33.4' }).submitted();
    expect((await cluster()).provisioningState).toBe('Upgrading');
    const path = `/subscriptions/${rig.spec.subscriptionId}/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/aks/abort`;
    const aborted = await rig.call('POST', `${path}?api-version=2025-03-01`);
    expect(aborted).toMatchObject({ status: 202, json: { name: 'aks', properties: { provisioningState: 'Canceling' } } });
    expect(aborted.headers['azure-asyncoperation']).toContain('/operations/');
    rig.clock.advance(10 * MINUTE);
    expect(await cluster()).toMatchObject({ provisioningState: 'Canceled', currentKubernetesVersion: '1.33.2' });
    await rig.aks.managedClusters.updateTags('rg', 'aks', { tags: { a: 'b' } }).submitted();
    rig.clock.advance(10 * MINUTE);
    expect((await cluster()).provisioningState).toBe('Succeeded');
  });

  it('is refused if nothing runs', async () => {
    await expect(rig.aks.managedClusters.abortLatestOperation('rg', 'aks')).rejects.toMatchObject({
      statusCode: 409,
      code: 'OperationNotAllowed',
    });
    await expect(rig.aks.managedClusters.abortLatestOperation('rg', 'other')).rejects.toMatchObject({ statusCode: 404 });
  });
});
