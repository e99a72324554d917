/**
 * User-assigned identities (Microsoft.ManagedIdentity) and the credentials by which tokens of a Kubernetes cluster stand for them, as recorded by
 * Azure's CLI in April 2025. Each has a service principal in the directory.
 */
import { armError, resourceNotFound } from '../http/errors.ts';
import { pick, pickText, type JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import type { ArmWorld } from '../state/arm-state.ts';
import { identityId, kubeletIdentityName } from '../state/resource-names.ts';

const IDENTITY_TYPE = 'Microsoft.ManagedIdentity/userAssignedIdentities';
const CREDENTIAL_TYPE = `${IDENTITY_TYPE}/federatedIdentityCredentials`;

/** Lists those of the resource group, or of the subscription. */
export function listIdentities(world: ArmWorld, request: ArmRequest): ArmReply {
  const group = request.params['rg']?.toLowerCase();
  const value = identitiesOf(world).filter(
    (identity) => group === undefined || pickText(identity, 'id')?.toLowerCase().includes(`/resourcegroups/${group}/`) === true,
  );
  return { status: 200, body: { value } };
}

/** All user-assigned identities that clients created. */
export function identitiesOf({ documents }: Pick<ArmWorld, 'documents'>): readonly JsonObject[] {
  return [...documents.values()].filter((document) => pickText(document, 'type') === IDENTITY_TYPE);
}

/** Creates an identity (201), or changes its tags (200). Its ids stay. */
export function putIdentity(world: ArmWorld, request: ArmRequest): ArmReply {
  const { documents } = world;
  const before = documents.get(request.path.toLowerCase());
  const document = { ...(before ?? newIdentity(world, request.path)), tags: pick(request.body, 'tags') ?? {} };
  documents.set(request.path.toLowerCase(), document);
  return { status: before === undefined ? 201 : 200, body: document };
}

/** Creates the identity of the kubelets, which every AKS cluster with a managed identity has. */
export function seedKubeletIdentity(world: ArmWorld): void {
  const id = identityId(world.spec, kubeletIdentityName(world.spec));
  world.documents.set(id.toLowerCase(), { ...newIdentity(world, id), tags: {} });
}

function newIdentity({ draws, spec }: ArmWorld, id: string): JsonObject {
  const clientId = draws.guid(`identity|${id.toLowerCase()}`);
  return {
    location: spec.location,
    id: id.replace(/\/resourceGroups\//i, '/resourcegroups/'),
    name: id.split('/').at(-1),
    type: IDENTITY_TYPE,
    properties: { isolationScope: 'None', tenantId: spec.tenantId, principalId: draws.guid(`oid|${clientId}`), clientId },
  };
}

export function getIdentity(world: ArmWorld, request: ArmRequest): ArmReply {
  const document = world.documents.get(request.path.toLowerCase());
  return document === undefined ? identityNotFound(request) : { status: 200, body: document };
}

/** Its federated credentials go with it. Role assignments stay, as in Azure. */
export function deleteIdentity({ documents }: ArmWorld, request: ArmRequest): ArmReply {
  const key = request.path.toLowerCase();
  const isThere = documents.delete(key);
  for (const id of documents.keys()) if (id.startsWith(`${key}/`)) documents.delete(id);
  return { status: isThere ? 200 : 204 };
}

function identityNotFound(request: ArmRequest): ArmReply {
  return resourceNotFound(IDENTITY_TYPE, param(request, 'identity'), param(request, 'rg'));
}

/** Needs an issuer, a subject and audiences. */
export function putFederatedCredential({ documents }: ArmWorld, request: ArmRequest): ArmReply {
  const key = request.path.toLowerCase();
  if (!documents.has(ownerOf(key))) return identityNotFound(request);
  const [issuer, subject] = [pickText(request.body, 'properties', 'issuer'), pickText(request.body, 'properties', 'subject')];
  const audiences = pick(request.body, 'properties', 'audiences');
  if (issuer === undefined || subject === undefined || !Array.isArray(audiences)) {
    return armError(400, 'BadRequest', 'The request format was unexpected: issuer, subject and audiences are required.');
  }
  const name = param(request, 'credential');
  const document = { id: request.path, name, type: CREDENTIAL_TYPE, properties: { issuer, subject, audiences } };
  const isNew = !documents.has(key);
  documents.set(key, document);
  return { status: isNew ? 201 : 200, body: document };
}

export function getFederatedCredential({ documents }: ArmWorld, request: ArmRequest): ArmReply {
  const document = documents.get(request.path.toLowerCase());
  return document === undefined ? armError(404, 'NotFound', 'The requested resource was not found.') : { status: 200, body: document };
}

export function listFederatedCredentials(world: ArmWorld, request: ArmRequest): ArmReply {
  const prefix = `${request.path.toLowerCase()}/`;
  if (!world.documents.has(ownerOf(prefix))) return identityNotFound(request);
  return { status: 200, body: { value: [...world.documents].flatMap(([id, document]) => (id.startsWith(prefix) ? [document] : [])) } };
}

export function deleteFederatedCredential({ documents }: ArmWorld, request: ArmRequest): ArmReply {
  return { status: documents.delete(request.path.toLowerCase()) ? 200 : 204 };
}

function ownerOf(path: string): string {
  return path.split('/federatedidentitycredentials')[0] ?? '';
}
