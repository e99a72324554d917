/** Identities that a person creates, the roles that they get, and the directory that names them. */
import { describe, expect, it } from 'vitest';
import { aPool, aWorld, CLIENT, sharedRig, type Answer } from '../simulator/arm/harness.ts';

const SUB = '/subscriptions/11111111-2222-3333-4444-555555555555';
const GROUP = `${SUB}/resourceGroups/rg`;
const IDENTITY = `${GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/autoscaler`;
const ROLES = 'providers/Microsoft.Authorization';
const V = 'api-version=2022-04-01';
const READER = 'acdd72a7-3385-48ef-bd42-f606fba81ae7';
const NAMED = '88888888-0000-0000-0000-000000000001';

const rig = sharedRig(aWorld([aPool('a')]));
const get = (path: string): Promise<Answer> => rig().call('GET', `${path}${path.includes('?') ? '&' : '?'}${V}`);
const put = (path: string, body: object): Promise<Answer> => rig().call('PUT', `${path}?${V}`, { body });

interface Named {
  readonly name: string;
}

async function valuesOf(path: string): Promise<readonly Named[]> {
  return (JSON.parse((await get(path)).text) as { readonly value: readonly Named[] }).value;
}

async function principalOf(): Promise<string> {
  const { text } = await put(IDENTITY, { location: 'westeurope', tags: { owner: 'me' } });
  return (JSON.parse(text) as { readonly properties: { readonly principalId: string } }).properties.principalId;
}

describe('user-assigned identities', () => {
  it('are created once and keep their ids', async () => {
    const first = await put(IDENTITY, { location: 'westeurope' });
    expect(first).toMatchObject({ status: 201, json: { name: 'autoscaler', properties: { tenantId: rig().spec.tenantId } } });
    const again = await put(IDENTITY, { location: 'westeurope', tags: { owner: 'me' } });
    expect(again).toMatchObject({ status: 200, json: { tags: { owner: 'me' }, properties: first.json['properties'] } });
    expect((await get(IDENTITY)).json).toEqual(again.json);
    expect(await valuesOf(`${GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities`)).toHaveLength(1);
    // AKS has created the other one for the kubelets.
    const all = await valuesOf(`${SUB}/providers/Microsoft.ManagedIdentity/userAssignedIdentities`);
    expect(all.map(({ name }) => name)).toEqual(['aks-agentpool', 'autoscaler']);
  });

  it('have federated credentials, which go with them', async () => {
    await principalOf();
    const path = `${IDENTITY}/federatedIdentityCredentials/aks`;
    const properties = { issuer: 'https://issuer', subject: 'system:serviceaccount:kube-system:aks-autoscaler', audiences: ['a'] };
    expect(await put(path, { properties: { issuer: 'x' } })).toMatchObject({ status: 400 });
    expect(await put(path, { properties })).toMatchObject({ status: 201, json: { name: 'aks', properties } });
    expect(await put(path, { properties })).toMatchObject({ status: 200 });
    expect((await get(path)).json).toMatchObject({ properties });
    expect(await valuesOf(`${IDENTITY}/federatedIdentityCredentials`)).toHaveLength(1);
    expect((await rig().call('DELETE', `${IDENTITY}?${V}`)).status).toBe(200);
    expect([(await get(path)).status, (await get(IDENTITY)).status]).toEqual([404, 404]);
    expect((await rig().call('DELETE', `${IDENTITY}?${V}`)).status).toBe(204);
    expect((await put(path, { properties })).status).toBe(404);
    expect((await get(`${IDENTITY}/federatedIdentityCredentials`)).status).toBe(404);
    expect((await rig().call('DELETE', `${path}?${V}`)).status).toBe(204);
  });
});

describe('role definitions', () => {
  const role = (roleName: string, action: string): object => ({
    properties: { roleName, description: 'd', assignableScopes: [SUB], permissions: [{ actions: [action] }] },
  });

  it('custom roles are replaced under their id, and their names are unique', async () => {
    const path = `${SUB}/${ROLES}/roleDefinitions/${NAMED}`;
    const created = await put(path, role('watcher', 'Microsoft.Compute/*/read'));
    expect(created).toMatchObject({ status: 201, json: { name: NAMED, properties: { type: 'CustomRole', createdBy: null } } });
    expect(created.json).toMatchObject({ properties: { permissions: [{ actions: ['Microsoft.Compute/*/read'], notActions: [] }] } });
    expect(await put(path, role('watcher', '*/read'))).toMatchObject({ status: 201 });
    const other = await put(`${SUB}/${ROLES}/roleDefinitions/88888888-0000-0000-0000-000000000002`, role('Watcher', '*'));
    expect(other).toMatchObject({ status: 409, json: { error: { code: 'RoleDefinitionWithSameNameExists' } } });
    const [found] = await valuesOf(`${SUB}/${ROLES}/roleDefinitions?$filter=roleName eq 'watcher'`);
    expect(found).toMatchObject({ name: NAMED, properties: { permissions: [{ actions: ['*/read'] }] } });
    expect((await get(path)).json).toMatchObject({ name: NAMED });
    const custom = await valuesOf(`${SUB}/${ROLES}/roleDefinitions?$filter=atScope() and type eq 'CustomRole'`);
    expect(custom.map(({ name }) => name)).toEqual([NAMED]);
    expect((await rig().call('DELETE', `${path}?${V}`)).status).toBe(200);
    expect((await rig().call('DELETE', `${path}?${V}`)).status).toBe(204);
    expect(await get(path)).toMatchObject({ status: 404, json: { error: { code: 'RoleDefinitionDoesNotExist' } } });
  });

  it('built-in roles have the ids of every tenant', async () => {
    expect(await valuesOf(`${GROUP}/${ROLES}/roleDefinitions?$filter=roleName eq 'Reader'`)).toMatchObject([{ name: READER }]);
    expect((await rig().call('DELETE', `${SUB}/${ROLES}/roleDefinitions/${READER}?${V}`)).status).toBe(204);
    expect((await get(`${SUB}/${ROLES}/roleDefinitions?$filter=name`)).status).toBe(400);
    expect(await valuesOf(`${SUB}/${ROLES}/locks`)).toEqual([]);
  });
});

describe('role assignments', () => {
  const SET_SCOPE = `${GROUP}/providers/Microsoft.ContainerService/managedClusters/aks`;
  const assignment = (scope: string, name: string): string => `${scope}/${ROLES}/roleAssignments/${name}`;
  const listed = (scope: string, filter: string): Promise<readonly { readonly name: string }[]> =>
    valuesOf(`${scope}/${ROLES}/roleAssignments?$filter=${filter}`);

  it('are listed at, above and below a scope, and refused twice', async () => {
    const principalId = await principalOf();
    const properties = { roleDefinitionId: `${SUB}/${ROLES}/roleDefinitions/${READER}`, principalId, principalType: 'ServicePrincipal' };
    const made = await put(assignment(GROUP, 'one'), { properties });
    expect(made).toMatchObject({ status: 201, json: { name: 'one', properties: { scope: GROUP, principalId, condition: null } } });
    expect(await put(assignment(GROUP, 'again'), { properties })).toMatchObject({
      status: 409,
      json: { error: { code: 'RoleAssignmentExists' } },
    });
    await put(assignment(SET_SCOPE, 'two'), { properties });
    expect(await listed(GROUP, 'atScope()')).toMatchObject([{ name: 'one' }]);
    expect(await listed(SET_SCOPE, 'atScope()')).toMatchObject([{ name: 'one' }, { name: 'two' }]);
    expect(await listed(SUB, `principalId eq '${principalId}'`)).toHaveLength(2);
    expect(await listed(SUB, `atScope() and assignedTo('${principalId}')`)).toEqual([]);
    expect(await listed(SUB, `principalId eq 'other'`)).toEqual([]);
    expect((await get(`${SUB}/${ROLES}/roleAssignments?$filter=else`)).status).toBe(400);
    expect((await get(assignment(GROUP, 'one'))).json).toMatchObject({ name: 'one' });
    expect((await rig().call('DELETE', `${assignment(GROUP, 'one')}?${V}`)).status).toBe(200);
    expect((await rig().call('DELETE', `${assignment(GROUP, 'one')}?${V}`)).status).toBe(204);
    expect((await get(assignment(GROUP, 'one'))).status).toBe(404);
  });

  it('need a role that exists', async () => {
    const properties = { roleDefinitionId: `${SUB}/${ROLES}/roleDefinitions/${NAMED}`, principalId: 'p' };
    expect(await put(assignment(GROUP, 'none'), { properties })).toMatchObject({ status: 404 });
  });
});

describe('the directory', () => {
  it('names service principals by object id and by client id, to callers with a token', async () => {
    const principalId = await principalOf();
    const byIds = await rig().call('POST', '/v1.0/directoryObjects/getByIds', { body: { ids: [principalId, 'other'], types: [] } });
    expect(byIds.json).toMatchObject({ value: [{ id: principalId, displayName: 'autoscaler', servicePrincipalType: 'ManagedIdentity' }] });
    const filter = `servicePrincipalNames/any(c:c eq '${CLIENT.clientId}')`;
    const byName = await rig().call('GET', `/v1.0/servicePrincipals?$filter=${filter}`);
    expect(byName.json).toMatchObject({ value: [{ appId: CLIENT.clientId, servicePrincipalType: 'Application' }] });
    expect((await rig().call('GET', '/v1.0/servicePrincipals', { token: false })).status).toBe(401);
  });
});
