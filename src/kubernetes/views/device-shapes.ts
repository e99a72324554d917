/**
 * Gives pods with device claims a shape that includes what the claims mean, and pods with their own devices the names
 * of those devices. Returns a cluster without device claims unchanged.
 */
import { parseSelector, type Selector } from '../../domain/cel-selector.ts';
import {
  describeClaimRef,
  type DeviceClaim,
  type DeviceClaimRef,
  type AllocatedClaim,
  type DeviceRules,
  type HeldDevice,
} from '../../domain/devices.ts';
import type { Node } from '../../domain/node.ts';
import { DEVICE_CLAIMS, NAMED_CLAIM, NAMED_DEVICES, USUAL_STATUS, type Pod, type PodShape } from '../../domain/pod.ts';
import type { Resources } from '../../domain/resources.ts';
import { blockerIdentity, type ClaimBlocker } from '../../domain/volumes.ts';
import type { DaemonSet } from '../../domain/workloads.ts';
import { Interner, WeakInterner } from '../watch/interner.ts';
import type {
  Allocation,
  ClaimRequests,
  ClaimTemplate,
  DeviceClass,
  DeviceTaintRule,
  ResourceClaim,
  Slice,
} from '../projection/devices.ts';
import { sameItems } from '../../lib/collections.ts';
import { defined } from '../../lib/defined.ts';

export interface DeviceTables {
  readonly slices: ReadonlyMap<string, Slice>;
  readonly classes: ReadonlyMap<string, DeviceClass>;
  readonly claims: ReadonlyMap<string, ResourceClaim>;
  readonly templates: ReadonlyMap<string, ClaimTemplate>;
  /** Those that select devices. If absent, there are none. */
  readonly taintRules?: ReadonlyMap<string, DeviceTaintRule | undefined>;
}

export interface Claiming {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly podsByNode: ReadonlyMap<string, readonly Pod[]>;
  readonly pendingPods: readonly Pod[];
  readonly daemonSets: readonly DaemonSet[];
}

/** Everything that the evaluation of claims reads. */
export interface DeviceClaimInput extends DeviceTables {
  /** Resources that device classes stand for: the class, and the indexes of the node's own amount and of what pods ask of either. */
  readonly named: readonly NamedDevices[];
  /** Set if some of it could not be read, with the reason. */
  readonly trouble: string | undefined;
}

/** A resource that a device class stands for. */
export interface NamedDevices {
  readonly resource: string;
  readonly className: string;
  readonly own: number;
  readonly asked: number;
}

/** The API server allows this many pods per claim. */
const MOST_USERS = 256;

/** The combined result of one pod's claims. */
interface ClaimResults {
  readonly claims: DeviceClaim[];
  readonly pins: AllocatedClaim[];
  readonly blockers: ClaimBlocker[];
  /** Claims that cannot be evaluated, each with the reason. */
  readonly unknown: string[];
  /** Devices of the pod's own claims. */
  readonly held: HeldDevice[];
  /** Whether any claim of the pod's own has its devices. */
  hasOwn: boolean;
  /** Devices that the pod asks for by the names of resources. */
  readonly named: NamedDevices[];
  /** Whether the pod has them as an amount of its node's own. */
  keepsOwn: boolean;
}

/** Holds the results, which stay valid until the pods of a list or the tables change. */
export class DeviceShapes {
  readonly #shapes = new WeakInterner<PodShape>();
  readonly #claims = new WeakInterner<DeviceClaim>();
  readonly #selectors = new Interner<Selector | { readonly refused: string }>(1_000);
  #lists = new WeakMap<readonly Pod[], readonly Pod[]>();
  readonly #pods = new WeakMap<Pod, Pod>();
  readonly #daemons = new WeakMap<DaemonSet, DaemonSet>();
  #version = -1;
  #podsByNode: Claiming['podsByNode'] = new Map();

  /** `version` must change whenever `facts` would give different results. */
  resolve(given: Claiming, facts: DeviceClaimInput, version: number): Pick<Claiming, 'podsByNode' | 'pendingPods' | 'daemonSets'> {
    if (this.#version !== version) this.#lists = new WeakMap();
    this.#version = version;
    return {
      podsByNode: this.#byNode(given.podsByNode, facts),
      pendingPods: this.#list(given.pendingPods, facts),
      daemonSets: given.daemonSets.some(({ shape }) => wantsDevices(shape, facts))
        ? given.daemonSets.map((daemon) => this.#daemon(daemon, facts))
        : given.daemonSets,
    };
  }

  #byNode(given: Claiming['podsByNode'], facts: DeviceClaimInput): Claiming['podsByNode'] {
    const found = new Map<string, readonly Pod[]>();
    for (const [node, pods] of given) {
      const list = this.#list(pods, facts);
      if (list !== pods) found.set(node, list);
    }
    if (found.size === 0) return given;
    const before = this.#podsByNode;
    const isSame = before.size === given.size && [...given].every(([node, pods]) => before.get(node) === (found.get(node) ?? pods));
    if (!isSame) this.#podsByNode = new Map([...given].map(([node, pods]) => [node, found.get(node) ?? pods]));
    return this.#podsByNode;
  }

  #list(pods: readonly Pod[], facts: DeviceClaimInput): readonly Pod[] {
    const known = this.#lists.get(pods);
    if (known !== undefined) return known;
    const found = pods.some(({ shape }) => wantsDevices(shape, facts)) ? pods.map((pod) => this.#pod(pod, facts)) : pods;
    this.#lists.set(pods, found);
    return found;
  }

  #pod(pod: Pod, facts: DeviceClaimInput): Pod {
    if (!wantsDevices(pod.shape, facts)) return pod;
    const judged = this.#judge(pod.shape, pod, facts);
    const shape = this.#shapeOf(pod.shape, judged);
    const heldDevices = judged.hasOwn ? judged.held : undefined;
    const known = this.#pods.get(pod);
    if (known?.shape === shape && sameItems(known.status.heldDevices, heldDevices)) return known;
    const made = { ...pod, shape, status: { ...pod.status, heldDevices } };
    this.#pods.set(pod, made);
    return made;
  }

  /** The pods of a DaemonSet do not exist yet; each will get its own claims. */
  #daemon(daemon: DaemonSet, facts: DeviceClaimInput): DaemonSet {
    if (!wantsDevices(daemon.shape, facts)) return daemon;
    const shape = this.#shapeOf(
      daemon.shape,
      this.#judge(daemon.shape, { namespace: daemon.namespace, uid: '', nodeName: undefined, status: USUAL_STATUS }, facts),
    );
    const known = this.#daemons.get(daemon);
    if (known?.shape === shape) return known;
    const made = { ...daemon, shape };
    this.#daemons.set(daemon, made);
    return made;
  }

  #judge(
    { deviceClaims, requests }: PodShape,
    pod: Pick<Pod, 'namespace' | 'uid' | 'nodeName' | 'status'>,
    facts: DeviceClaimInput,
  ): ClaimResults {
    const judged: ClaimResults = { claims: [], pins: [], blockers: [], unknown: [], held: [], hasOwn: false, named: [], keepsOwn: false };
    this.#judgeNamed(requests, pod, { facts, judged });
    for (const ref of deviceClaims) {
      if (facts.trouble !== undefined) judged.unknown.push(`${describeClaimRef(ref)}: ${facts.trouble}`);
      else this.#judgeOne(ref, pod, { facts, judged });
    }
    return judged;
  }

  #judgeOne(
    ref: DeviceClaimRef,
    pod: Pick<Pod, 'namespace' | 'uid' | 'nodeName' | 'status'>,
    { facts, judged }: { readonly facts: DeviceClaimInput; readonly judged: ClaimResults },
  ): void {
    const isOwn = ref.claim === undefined;
    const key = `${pod.namespace}/${nameOf(ref, pod)}`;
    const claim = facts.claims.get(key);
    // A claim that does not exist yet will request what its template contains.
    const ask = claim?.ask ?? facts.templates.get(`${pod.namespace}/${ref.template}`)?.ask;
    if (ask === undefined) {
      judged.blockers.push(notFound(ref, pod.namespace));
      return;
    }
    const blocker = blockerOf(claim, pod, isOwn);
    if (blocker !== undefined) judged.blockers.push(blocker);
    else if (claim?.allocation === undefined) this.#understand({ ref, ask, shared: isOwn ? undefined : key }, facts, judged);
    else this.#settle({ ref, ask, allocation: claim.allocation, moves: isOwn && pod.nodeName !== undefined }, facts, judged);
  }

  /** A pod that got no claim for them when it was bound has an amount of its node's own. */
  #judgeNamed(
    requests: Resources,
    pod: Pick<Pod, 'namespace' | 'nodeName' | 'status'>,
    { facts, judged }: { readonly facts: DeviceClaimInput; readonly judged: ClaimResults },
  ): void {
    const named = facts.named.filter(({ own }) => (requests[own] ?? 0) > 0);
    if (named.length === 0) return;
    const made = pod.status.madeClaims[NAMED_CLAIM];
    judged.named.push(...named);
    judged.keepsOwn = pod.nodeName !== undefined && made === undefined;
    if (judged.keepsOwn) return;
    const ask: ClaimRequests = {
      requests: named.map(({ resource, className, own }) => ({
        name: resource,
        insteadOf: vectorOf(own),
        asks: [{ name: resource, className, selectors: [], count: requests[own] ?? 0, admin: false, tolerations: [] }],
      })),
      rules: [],
    };
    const ref = { name: NAMED_CLAIM };
    const allocation = facts.claims.get(`${pod.namespace}/${made ?? ''}`)?.allocation;
    if (allocation === undefined) this.#understand({ ref, ask, shared: undefined }, facts, judged);
    else this.#settle({ ref, ask, allocation, moves: pod.nodeName !== undefined }, facts, judged);
  }

  /** A moved pod is a new pod whose own claims are created again. A claim shared with others keeps its devices. */
  #settle(
    {
      ref,
      ask,
      allocation,
      moves,
    }: { readonly ref: DeviceClaimRef; readonly ask: ClaimRequests; readonly allocation: Allocation; readonly moves: boolean },
    facts: DeviceClaimInput,
    judged: ClaimResults,
  ): void {
    if (ref.claim === undefined) {
      judged.hasOwn = true;
      judged.held.push(...allocation.devices.filter(({ admin }) => !admin).map(({ device }) => device));
    }
    if (moves) this.#understand({ ref, ask, shared: undefined }, facts, judged);
    else if (allocation.terms !== undefined) judged.pins.push({ claim: ref.name, terms: allocation.terms });
  }

  #understand(
    { ref, ask, shared }: { readonly ref: DeviceClaimRef; readonly ask: ClaimRequests; readonly shared: string | undefined },
    facts: DeviceClaimInput,
    judged: ClaimResults,
  ): void {
    const { blocker, unknown, requests } = this.#requestsOf(ask, facts);
    if (unknown !== undefined) judged.unknown.push(`${describeClaimRef(ref)}: ${unknown}`);
    else if (blocker !== undefined) judged.blockers.push({ message: blocker, detail: `claim ${ref.name}`, repair: undefined });
    else if (requests.length > 0) {
      const claim: DeviceClaim = { name: ref.name, ...defined({ shared }), requests, rules: ask.rules };
      judged.claims.push(this.#claims.of(JSON.stringify(claim), () => claim));
    }
  }

  #requestsOf(
    ask: ClaimRequests,
    facts: DeviceClaimInput,
  ): { readonly blocker?: string; readonly unknown?: string; readonly requests: DeviceClaim['requests'] } {
    if (ask.strange !== undefined) return { unknown: `${ask.strange} is not supported`, requests: [] };
    for (const { name, asks } of ask.requests) {
      const missing = asks.find(({ className }) => !facts.classes.has(className));
      if (missing !== undefined) return { blocker: `request ${name}: device class ${missing.className} does not exist`, requests: [] };
    }
    const requests = ask.requests.map(({ asks, ...request }) => ({
      ...request,
      asks: asks.map(({ className, ...rest }) => ({
        ...rest,
        selectors: [...(facts.classes.get(className)?.selectors ?? []), ...rest.selectors],
      })),
    }));
    const strangeClass = ask.requests.flatMap(({ asks }) => asks).map(({ className }) => facts.classes.get(className)?.strange);
    const strange = strangeClass.find((text) => text !== undefined);
    const unknown = strange ?? this.#refusal(requests.flatMap(({ asks }) => asks.flatMap(({ selectors }) => selectors)));
    return unknown === undefined ? { requests } : { unknown, requests: [] };
  }

  /** The first expression that is not supported, by its text. */
  #refusal(selectors: readonly string[]): string | undefined {
    for (const expression of selectors) {
      const selector = this.#selectorOf(expression);
      if ('refused' in selector) return `the selector ${expression} is not supported: ${selector.refused}`;
    }
    return undefined;
  }

  #selectorOf(expression: string): Selector | { readonly refused: string } {
    return this.#selectors.of(expression, () => parseSelector(expression));
  }

  #shapeOf(base: PodShape, { claims, pins, blockers, unknown, named, keepsOwn }: ClaimResults): PodShape {
    const others = base.unsupported.filter(({ feature }) => feature !== DEVICE_CLAIMS && (named.length === 0 || feature !== NAMED_DEVICES));
    const unsupported = [...others, ...unknown.map((detail) => ({ feature: DEVICE_CLAIMS, detail }))];
    const devices: DeviceRules = { claims, pins, blockers };
    const part = named.length === 0 ? [] : [named.map(({ resource }) => resource), keepsOwn];
    // The vectors of `insteadOf` depend on the process; the names in `part` say the same.
    const stable = (field: string, value: unknown): unknown => (field === 'insteadOf' ? undefined : value);
    const key = JSON.stringify([base.key, unsupported, { ...devices, blockers: blockers.map(blockerIdentity) }, ...part], stable);
    const requests = named.length === 0 ? {} : { requests: askedOf(base.requests, named, keepsOwn) };
    return this.#shapes.of(key, () => ({ ...base, key, unsupported, devices, ...requests }));
  }
}

function wantsDevices({ deviceClaims, requests }: PodShape, { named }: DeviceClaimInput): boolean {
  return deviceClaims.length > 0 || named.some(({ own }) => (requests[own] ?? 0) > 0);
}

function vectorOf(own: number): Resources {
  return new Float64Array(own + 1).fill(1, own);
}

/** Either the node's own amount or devices. @param keepsOwn the pod has the former. */
function askedOf(requests: Resources, named: readonly NamedDevices[], keepsOwn: boolean): Resources {
  const length = Math.max(requests.length, ...named.map(({ asked }) => asked + 1));
  const asked = new Float64Array(length);
  asked.set(requests);
  for (const each of named) {
    asked[each.asked] = requests[each.own] ?? 0;
    if (!keepsOwn) asked[each.own] = 0;
  }
  return asked;
}

/** The name of the claim; empty if it does not exist yet. */
function nameOf({ name, claim }: DeviceClaimRef, { status }: Pick<Pod, 'status'>): string {
  return claim ?? status.madeClaims[name] ?? '';
}

function notFound({ name, claim, template }: DeviceClaimRef, namespace: string): ClaimBlocker {
  const object = claim === undefined ? 'ResourceClaimTemplate' : 'ResourceClaim';
  const missing = claim ?? template ?? '';
  return {
    message: `${object.toLowerCase()} "${missing}" not found`,
    detail: `claim ${name}, in namespace ${namespace}`,
    repair: { kind: 'create', object, name: missing },
  };
}

/** Why no node can take the pod because of this claim, in the words of kube-scheduler. */
function blockerOf(claim: ResourceClaim | undefined, pod: Pick<Pod, 'uid' | 'nodeName'>, isOwn: boolean): ClaimBlocker | undefined {
  if (claim === undefined) return undefined;
  const detail = `claim ${claim.key}`;
  // A file may leave out the uid; then the owner cannot be checked.
  if (isOwn && claim.ownerUid !== undefined && pod.uid !== '' && claim.ownerUid !== pod.uid)
    return { message: `ResourceClaim ${claim.key} was not created for the pod (pod is not owner)`, detail, repair: undefined };
  if (pod.nodeName !== undefined) return undefined;
  if (claim.isDeleting) return { message: 'resourceclaim is being deleted', detail, repair: { kind: 'await-deletion' } };
  if (claim.users.length >= MOST_USERS && !claim.users.includes(pod.uid))
    return {
      message: 'resourceclaim in use',
      detail: `${detail} is reserved for ${claim.users.length} pods`,
      repair: { kind: 'own-claim' },
    };
  return undefined;
}
