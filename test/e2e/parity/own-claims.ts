/** Claims that are made for one pod, for volumes and for devices, as their controllers make them: those do not run here. */
import type { ParityCluster, ParityObject } from '../../differential/parity-case.ts';

/** On a pod: its claims are there already, but another pod's. */
export const STRANGERS_CLAIM = 'parity.test/claim-of-another';

type Json = Readonly<Record<string, unknown>>;

interface PodFields {
  readonly volumes?: readonly { readonly name: string; readonly ephemeral?: { readonly volumeClaimTemplate: { readonly spec: Json } } }[];
  readonly resourceClaims?: readonly {
    readonly name: string;
    readonly resourceClaimTemplateName?: string;
    readonly resourceClaimName?: string;
  }[];
}

export interface OwnClaims {
  readonly claims: readonly ParityObject[];
  /** What the pod's status says of them. */
  readonly status?: Json;
}

export function hasOwnClaims(pod: ParityObject): boolean {
  const { volumes = [], resourceClaims = [] } = fieldsOf(pod);
  return (
    volumes.some(({ ephemeral }) => ephemeral !== undefined) || resourceClaims.some((ref) => ref.resourceClaimTemplateName !== undefined)
  );
}

/** At a pod of which a claim of devices, or the template of one, is missing the scheduler does not even look. */
export function hasItsClaims(pod: ParityObject, objects: ParityCluster): boolean {
  const isThere = (wanted: string, name: string | undefined): boolean =>
    name === undefined || objects.some(({ kind, metadata }) => kind === wanted && metadata.name === name);
  return (fieldsOf(pod).resourceClaims ?? []).every(
    (ref) => isThere('ResourceClaimTemplate', ref.resourceClaimTemplateName) && isThere('ResourceClaim', ref.resourceClaimName),
  );
}

/** The pod, at which the scheduler looks once the gate is taken away. */
export function gated(pod: ParityObject): ParityObject {
  return { ...pod, spec: { ...(pod['spec'] as Json), schedulingGates: [{ name: 'parity.test/claims' }] } };
}

/** Of a pod as the API server gave it back. A template that is not there makes no claim. */
export function ownClaims(pod: ParityObject, objects: ParityCluster): OwnClaims {
  const { volumes = [], resourceClaims = [] } = fieldsOf(pod);
  const { name: podName, namespace = 'default' } = pod.metadata;
  const forVolumes = volumes.flatMap(({ name, ephemeral }): readonly ParityObject[] => {
    if (ephemeral === undefined) return [];
    const metadata = { name: `${podName}-${name}`, namespace, ownerReferences: [ownerOf(pod)] };
    return [{ kind: 'PersistentVolumeClaim', metadata, spec: ephemeral.volumeClaimTemplate.spec, status: { phase: 'Pending' } }];
  });
  const forDevices = resourceClaims.flatMap(({ name, resourceClaimTemplateName }) => {
    const template = objects.find(({ kind, metadata }) => kind === 'ResourceClaimTemplate' && metadata.name === resourceClaimTemplateName);
    if (template === undefined) return [];
    const annotations = { 'resource.kubernetes.io/pod-claim-name': name };
    const metadata = { name: `${podName}-${name}-made`, namespace, annotations, ownerReferences: [ownerOf(pod)] };
    return [{ ref: name, claim: { kind: 'ResourceClaim', metadata, spec: (template['spec'] as { readonly spec: Json }).spec } }];
  });
  const claims = [...forVolumes, ...forDevices.map(({ claim }) => claim)];
  if (forDevices.length === 0) return { claims };
  const resourceClaimStatuses = forDevices.map(({ ref, claim }) => ({ name: ref, resourceClaimName: claim.metadata.name }));
  return { claims, status: { resourceClaimStatuses } };
}

function ownerOf({ metadata }: ParityObject): Json {
  const { name, uid, annotations } = metadata as ParityObject['metadata'] & { readonly annotations?: Json };
  const owner = { apiVersion: 'v1', kind: 'Pod', name, uid: annotations?.[STRANGERS_CLAIM] === undefined ? uid : 'another' };
  return { ...owner, controller: true, blockOwnerDeletion: true };
}

function fieldsOf(pod: ParityObject): PodFields {
  return pod['spec'] as PodFields;
}
