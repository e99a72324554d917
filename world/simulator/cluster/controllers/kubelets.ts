/**
 * Which VMs have a live kubelet, and the registration of their nodes. It is the only subscriber of the VM feed. The room holds
 * the controllers. Must not know HTTP or ARM.
 */
import type { SimulatedVm, VmChange } from '../../base/vm-feed.ts';
import { timestamp, type KubeObject, type NodeObject } from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';
import { storedType } from '../store/resource-types.ts';
import { recordEvent, type ControllerContext } from '../base/controller-context.ts';
import { reportCondition } from './node-problems.ts';
import { cloudLabels, liveConditions, nodeDraft, NOT_READY, UNINITIALIZED, zoneOf } from './node-object.ts';

/** Which kubelets are alive: the pod workers query it, VM events change it. */
export interface Kubelets {
  isAlive(nodeName: string): boolean;
  /** Called when a kubelet starts or becomes silent. */
  onAliveChange(listener: (nodeName: string, alive: boolean) => void): void;
  stop(): void;
}

const NODES = storedType('nodes');
const CSI_NODES = storedType('csinodes');
export const NODE_IMAGE = 'kubernetes.azure.com/node-image-version';
const DISK_ZONE = 'topology.disk.csi.azure.com/zone';

/** Registers nodes for the VMs that run now and later. */
export function startKubelets(context: ControllerContext, onChange: (change: VmChange) => void): Kubelets {
  const { api, knobs } = context;
  /** Host name -> boot number. Steps that one boot planned must not run in the next. */
  const alive = new Map<string, number>();
  const listeners: ((nodeName: string, alive: boolean) => void)[] = [];
  let sequence = 0;
  let lives = 0;

  function live(nodeName: string, isAlive: boolean): void {
    if (isAlive) alive.set(nodeName, lives++);
    else alive.delete(nodeName);
    for (const listener of listeners) listener(nodeName, isAlive);
  }

  function still(machine: SimulatedVm, action: () => void): () => void {
    const life = alive.get(machine.hostName);
    return () => {
      if (life !== undefined && alive.get(machine.hostName) === life) action();
    };
  }

  function boot(machine: SimulatedVm): void {
    if (alive.has(machine.hostName)) return;
    live(machine.hostName, true);
    const { timers } = api;
    timers.after(
      knobs.registerMs,
      still(machine, () => {
        registerNode(context, machine, sequence++);
        timers.after(
          knobs.cloudInitMs,
          still(machine, () => initialize(context, machine)),
        );
        timers.after(
          knobs.readyMs,
          still(machine, () => becomeReady(context, machine)),
        );
        timers.after(
          knobs.readyMs + knobs.csiMs,
          still(machine, () => registerDrivers(context, machine)),
        );
      }),
    );
  }

  for (const machine of context.machines.list().filter(({ power }) => power === 'running')) {
    registerNode(context, machine, sequence++, knobs.initialNodeAgeMs);
    initialize(context, machine);
    // Ready since it was created: the Cluster Autoscaler takes a node as an example for its pool a minute after it became ready.
    becomeReady(context, machine, knobs.initialNodeAgeMs);
    registerDrivers(context, machine);
    live(machine.hostName, true);
  }
  const unsubscribe = context.machines.subscribe((change) => {
    if (change.kind === 'running') boot(change.machine);
    else if (change.kind === 'stopped' || change.kind === 'gone') live(change.machine.hostName, false);
    else if (change.kind === 'preempt-scheduled') {
      const report = still(change.machine, () => reportPreemption(context, change.machine, change.notBeforeMs));
      api.timers.after(knobs.scheduledEventMs, report);
    } else if (change.kind === 'relabelled') replaceLabels(context, change.machine, change.removed);
    onChange(change);
  });
  return { isAlive: (nodeName) => alive.has(nodeName), onAliveChange: (listener) => listeners.push(listener), stop: unsubscribe };
}

function registerNode(context: ControllerContext, machine: SimulatedVm, sequence: number, ageMs = 0): void {
  const { api, knobs, spec } = context;
  const nowMs = api.timers.now();
  const created = api.create(NODES, nodeDraft(machine, { spec, maxPods: knobs.maxPods, nowMs, sequence }), undefined);
  if (!created.ok) return relabel(context, machine);
  if (ageMs > 0) {
    const metadata = { ...created.value.metadata, creationTimestamp: timestamp(nowMs - ageMs) };
    api.store.put('nodes', { ...created.value, metadata });
  }
  recordEvent(api, created.value, {
    type: 'Normal',
    reason: 'RegisteredNode',
    message: `Node ${machine.hostName} event: Registered Node ${machine.hostName} in Controller`,
    component: 'node-controller',
  });
}

/** A VM that was reimaged has a node already, which shows the new image and the version of the new kubelet. */
function relabel({ api }: ControllerContext, { hostName, labels, kubernetesVersion }: SimulatedVm): void {
  const version = `v${kubernetesVersion}`;
  api.modify(NODES, { namespace: undefined, name: hostName }, 'status', (current) => {
    const status = isRecord(current.status) ? current.status : {};
    const before = isRecord(status['nodeInfo']) ? status['nodeInfo'] : {};
    return { ...current, status: { ...status, nodeInfo: { ...before, kubeletVersion: version, kubeProxyVersion: version } } };
  });
  const image = labels[NODE_IMAGE];
  if (image === undefined) return;
  api.modify(NODES, { namespace: undefined, name: hostName }, 'main', (current) => ({
    ...current,
    metadata: { ...current.metadata, labels: { ...current.metadata.labels, [NODE_IMAGE]: image } },
  }));
}

/** AKS writes the labels of a pool to its nodes. */
function replaceLabels({ api }: ControllerContext, { hostName, labels }: SimulatedVm, removed: readonly string[]): void {
  api.modify(NODES, { namespace: undefined, name: hostName }, 'main', (current) => {
    const kept = Object.entries(current.metadata.labels ?? {}).filter(([key]) => !removed.includes(key));
    return { ...current, metadata: { ...current.metadata, labels: { ...Object.fromEntries(kept), ...labels } } };
  });
}

/** The changes of the cloud node controller: the provider id, topology labels, and the removal of its own taint. */
function initialize({ api }: ControllerContext, machine: SimulatedVm): void {
  api.modify(NODES, { namespace: undefined, name: machine.hostName }, 'main', (current) => {
    const node = current as NodeObject;
    return {
      ...node,
      metadata: { ...node.metadata, labels: { ...node.metadata.labels, ...cloudLabels(machine) } },
      spec: {
        ...node.spec,
        providerID: node.spec.providerID ?? machine.providerId,
        taints: (node.spec.taints ?? []).filter((taint) => taint.key !== UNINITIALIZED),
      },
    };
  });
}

/** Writes the condition that AKS's node problem detector sets when the metadata service shows a `Preempt` event. */
function reportPreemption({ api }: ControllerContext, machine: SimulatedVm, notBeforeMs: number): void {
  const message = `Preempt Scheduled: ${new Date(notBeforeMs).toUTCString()}`;
  const reported = { type: 'PreemptScheduled', status: 'True', reason: 'PreemptScheduled', message } as const;
  const node = reportCondition(api, machine.hostName, reported);
  if (node === undefined) return;
  const component = 'custom-scheduledevents-plugin-monitor';
  recordEvent(api, node, { type: 'Warning', reason: 'PreemptScheduled', message, component });
}

/** Writes the CSINode after AKS's storage drivers registered with the kubelet. File shares are not attached and have no limit. */
function registerDrivers({ api }: ControllerContext, machine: SimulatedVm): void {
  const node = api.store.get('nodes', `/${machine.hostName}`);
  if (node === undefined) return;
  const drivers = [
    {
      name: 'disk.csi.azure.com',
      nodeID: machine.hostName,
      topologyKeys: ['topology.disk.csi.azure.com/zone', 'topology.kubernetes.io/zone'],
      allocatable: { count: machine.dataDisks },
    },
    { name: 'file.csi.azure.com', nodeID: machine.hostName, topologyKeys: null },
  ];
  const { apiVersion, kind, metadata } = node;
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid };
  const draft = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: machine.hostName, ownerReferences: [owner] },
    spec: { drivers },
  };
  api.create(CSI_NODES, draft, undefined);
  // The kubelet labels its node with the driver's topology.
  const zone = zoneOf(machine);
  api.modify(NODES, { namespace: undefined, name: machine.hostName }, 'main', (current) => ({
    ...current,
    metadata: { ...current.metadata, labels: { ...current.metadata.labels, [DISK_ZONE]: zone === '0' ? '' : zone } },
  }));
}

function becomeReady({ api }: ControllerContext, machine: SimulatedVm, ageMs = 0): void {
  const nowMs = api.timers.now();
  const ready = api.modify(NODES, { namespace: undefined, name: machine.hostName }, 'status', (node: KubeObject) => ({
    ...node,
    status: { ...(isRecord(node.status) ? node.status : {}), conditions: liveConditions(true, nowMs, nowMs - ageMs) },
  }));
  if (!ready.ok) return;
  // The not-ready taints are removed together with the condition: a ready node is usable at once.
  api.modify(NODES, { namespace: undefined, name: machine.hostName }, 'main', (current) => {
    const node = current as NodeObject;
    return { ...node, spec: { ...node.spec, taints: (node.spec.taints ?? []).filter((taint) => taint.key !== NOT_READY) } };
  });
  recordEvent(api, ready.value, {
    type: 'Normal',
    reason: 'NodeReady',
    message: `Node ${machine.hostName} status is now: NodeReady`,
    component: 'kubelet',
  });
}
