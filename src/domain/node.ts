import type { Labels } from './labels.ts';
import type { NodeName } from './ids.ts';
import type { Resources } from './resources.ts';
import type { Taint } from './taints.ts';
import type { NodeDevices } from './devices.ts';
import type { AttachLimits } from './volumes.ts';

/** A registered node as the decisions see it. */
export interface Node {
  readonly name: NodeName;
  readonly uid: string;
  /** As spelled by the cluster; empty until the cloud set it. Compare only through an InstanceKey. */
  readonly providerId: string;
  readonly labels: Labels;
  readonly taints: readonly Taint[];
  /** `spec.unschedulable`: cordoned. */
  readonly unschedulable: boolean;
  readonly createdAtMs: number;
  readonly deletionAtMs: number | undefined;
  readonly capacity: Resources;
  readonly allocatable: Resources;
  readonly readiness: NodeReadiness;
  /** Volumes that can be attached, as the node's CSINode says. Absent: no limit is known, as for kube-scheduler. */
  readonly attachLimits?: AttachLimits;
  /** Devices that drivers publish for it. Absent: none. */
  readonly devices?: NodeDevices;
  /** Set: its platform says that it is put to sleep, neither here nor gone. */
  readonly suspended?: true;
  /** What its kubelet says that it can do, of what some pods require. Absent: nothing. */
  readonly declaredFeatures?: readonly string[];
  readonly scaleDownDisabled: boolean;
  /** What disabled it, for people. Absent: the annotation that has its name from that. */
  readonly disabledBecause?: string;
  /** Who asks to wait before the machine is deleted: what follows the prefix in each delay-deletion annotation. Absent: nobody. */
  readonly delayDeletion?: readonly string[];
  /** Set: the platform has said that it takes the machine back. */
  readonly preemption?: Preemption;
}

/** The end of a Spot machine, as announced. Milliseconds since the epoch. */
export interface Preemption {
  readonly noticedAtMs: number;
  /** Not before then. */
  readonly deadlineMs: number;
  /** What said so, for messages. */
  readonly notice: string;
}

/** Why a node is not ready that lacks nothing but the devices its labels promise. A name that the Cluster Autoscaler's users know. */
export const RESOURCE_NOT_READY = 'cluster-autoscaler.kubernetes.io/resource-not-ready';

/** Ready as the Cluster Autoscaler judges it: Ready=True, no disk pressure, network there, none of their taints. */
export interface NodeReadiness {
  readonly ready: boolean;
  readonly sinceMs: number;
  /** Empty when ready. */
  readonly reason: string;
}
