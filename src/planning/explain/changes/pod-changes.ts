/** Changes of the template of the pods that are to be helped. Where the template is, the caller says. */
import type { PodShape } from '../../../domain/pod.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import { type Taint, taintText } from '../../../domain/taints.ts';
import type { ClaimBlocker, ClaimRepair } from '../../../domain/volumes.ts';
import { yamlText } from '../../../lib/shown-text.ts';
import { formatAmount } from '../amounts.ts';
import { type ChangeKind, type FixStep, keyOf, kind } from './change.ts';
import { isNodeNameKey } from './label-keys.ts';
import { SHARED_FATE, templateOf } from './workload.ts';

interface TemplateChange<Data> {
  readonly describe: (change: Data) => string;
  /** `template`: where it is. undefined: the words are all that is known. */
  readonly step: (change: Data, template: string) => FixStep | undefined;
  readonly edit: (shape: PodShape, change: Data, names: ResourceNames) => PodShape;
}

/** Equal keys mean interchangeable pods, so a changed shape has a key of its own. */
function ofTemplate<Data extends object>({ describe, step, edit }: TemplateChange<Data>): ChangeKind<Data> {
  return kind({
    describe,
    steps: (change, { workload }) => {
      const known = step(change, templateOf(workload));
      return known === undefined ? [] : [known];
    },
    apply: (world, change, { names, reshape }) =>
      reshape(world, (shape) => ({ ...edit(shape, change, names), key: `${shape.key}|${keyOf(change)}` })),
  });
}

export const POD_CHANGES = {
  tolerate: ofTemplate<{ readonly taint: Taint }>({
    describe: ({ taint }) => `tolerate the taint ${taintText(taint)}`,
    step: ({ taint: { key, value, effect } }, where) => ({
      where,
      patch: `tolerations: [{key: ${yamlText(key)}, operator: Equal, value: ${JSON.stringify(value)}, effect: ${effect}}]`,
    }),
    edit: (shape, { taint: { key, value, effect } }) => ({
      ...shape,
      tolerations: [...shape.tolerations, { key, operator: 'Equal', value, effect }],
    }),
  }),
  'lower-request': ofTemplate<{ readonly resource: string; readonly from: number; readonly to: number }>({
    describe: ({ resource, from, to }) =>
      `lower the ${resource === 'cpu' ? 'CPU' : resource} request from ${formatAmount(resource, from)} to ${formatAmount(resource, to)}`,
    step: ({ resource, to }, where) => ({ where, patch: `resources: {requests: {${yamlText(resource)}: ${quantityOf(resource, to)}}}` }),
    edit: (shape, { resource, to }, names) => {
      const requests = shape.requests.slice();
      requests[names.indexOf(resource)] = to;
      return { ...shape, requests };
    },
  }),
  /** The pod no longer requires anything of this label. */
  'drop-label-rule': ofTemplate<{ readonly key: string }>({
    describe: ({ key }) => (isNodeNameKey(key) ? 'no longer require a node by its name' : `no longer require the label ${key}`),
    step: ({ key }, template) => ({ where: `nodeSelector and nodeAffinity of ${template}: ${key}` }),
    edit: (shape, { key }) => withoutLabelRule(shape, key),
  }),
  'raise-max-skew': ofTemplate<{ readonly topologyKey: string; readonly from: number; readonly to: number }>({
    describe: ({ topologyKey, from, to }) => `raise maxSkew for ${topologyKey} from ${from} to ${to}`,
    step: ({ topologyKey, to }, template) => ({ where: `topologySpreadConstraints of ${template}: maxSkew ${to} for ${topologyKey}` }),
    edit: (shape, { topologyKey, to }) => ({
      ...shape,
      topologySpread: shape.topologySpread.map((rule) => (rule.topologyKey === topologyKey ? { ...rule, maxSkew: to } : rule)),
    }),
  }),
  'drop-pod-affinity': ofTemplate<{ readonly rule: 'affinity' | 'anti-affinity'; readonly topologyKey: string }>({
    describe: ({ rule, topologyKey }) => `make the pod ${rule} rule for ${topologyKey} preferred instead of required`,
    step: ({ rule }, template) => {
      const [required, preferred] = ['requiredDuringSchedulingIgnoredDuringExecution', 'preferredDuringSchedulingIgnoredDuringExecution'];
      const where = `${fieldOf(rule)} of ${template}: from ${required} to ${preferred}`;
      return rule === 'affinity' ? { where } : { where, warning: SHARED_FATE };
    },
    edit: (shape, { rule, topologyKey }) => {
      const field = fieldOf(rule);
      return { ...shape, [field]: shape[field].filter((term) => term.topologyKey !== topologyKey) };
    },
  }),
  'drop-host-port': ofTemplate<{ readonly port: number; readonly protocol: string }>({
    describe: ({ port, protocol }) => `use another host port than ${port}/${protocol}`,
    step: (_change, template) => ({ where: `the ports of ${template}` }),
    edit: (shape, { port, protocol }) => ({
      ...shape,
      hostPorts: shape.hostPorts.filter((each) => each.port !== port || each.protocol !== protocol),
    }),
  }),
  /** In each request of the pod's device claims that has more. */
  'lower-device-count': ofTemplate<{ readonly from: number; readonly to: number }>({
    describe: ({ from, to }) => `claim ${to} ${to === 1 ? 'device' : 'devices'} instead of ${from}`,
    step: (_change, template) => ({ where: `the ResourceClaim or ResourceClaimTemplate of ${template}` }),
    edit: (shape, { to }) => withFewerDevices(shape, to),
  }),
  /** What the pod's claims need before any node helps: `message` and `detail` are those of the obstacle. */
  'repair-claims': ofTemplate<ClaimBlocker>({
    describe: describeRepair,
    step: () => undefined,
    edit: ({ volumes, devices, ...shape }) => ({
      ...shape,
      volumes: { ...volumes, blockers: [] },
      devices: { ...devices, blockers: [] },
    }),
  }),
};

function fieldOf(rule: 'affinity' | 'anti-affinity'): 'podAffinity' | 'podAntiAffinity' {
  return rule === 'affinity' ? 'podAffinity' : 'podAntiAffinity';
}

function describeRepair({ message, detail, repair }: ClaimBlocker): string {
  switch (repair?.kind) {
    case 'create':
      return describeCreation(repair, detail);
    case 'bind-volume':
      return `bind the volume or use a storage class that waits for the first pod (${detail})`;
    case 'restore-volume':
      return `restore the volume or recreate the claim (${detail})`;
    case 'await-deletion':
      return `wait for the deletion to end and recreate the claim (${detail})`;
    case 'own-claim':
      return `give the pod a claim of its own by a ResourceClaimTemplate (${detail})`;
    case 'stop-other-pod':
      return `stop the other pod (${detail})`;
    case undefined:
      return `resolve "${message}" (${detail})`;
  }
}

function describeCreation({ object, name }: Extract<ClaimRepair, { readonly kind: 'create' }>, detail: string): string {
  if (object === 'PersistentVolumeClaim') return `create the PersistentVolumeClaim ${name} ${detail}`;
  return object === 'StorageClass'
    ? `create the StorageClass ${name}, or name another one (${detail})`
    : `create ${object} ${name} (${detail})`;
}

/** A term of the affinity that required nothing else is met by every node. */
function withoutLabelRule(shape: PodShape, dropped: string): PodShape {
  const nodeSelector = Object.fromEntries(Object.entries(shape.nodeSelector).filter(([key]) => key !== dropped));
  const terms = shape.nodeAffinity?.map(({ expressions, fields }) => ({
    expressions: expressions.filter(({ key }) => key !== dropped),
    fields: isNodeNameKey(dropped) ? [] : fields,
  }));
  const isOpen = terms?.some(({ expressions, fields }) => expressions.length + fields.length === 0) === true;
  return { ...shape, nodeSelector, nodeAffinity: isOpen ? undefined : terms };
}

function withFewerDevices(shape: PodShape, most: number): PodShape {
  const { devices } = shape;
  const claims = devices.claims.map((claim) => ({
    ...claim,
    requests: claim.requests.map((request) => ({
      ...request,
      asks: request.asks.map((ask) => (ask.count === 'all' ? ask : { ...ask, count: Math.min(ask.count, most) })),
    })),
  }));
  return { ...shape, devices: { ...devices, claims } };
}

/** As a manifest writes it. */
function quantityOf(resource: string, value: number): string {
  if (resource === 'cpu') return `${value}m`;
  const gib = value / 2 ** 30;
  return gib >= 1 ? `${Math.round(gib * 10) / 10}Gi` : `${Math.floor(value / 2 ** 20)}Mi`;
}
