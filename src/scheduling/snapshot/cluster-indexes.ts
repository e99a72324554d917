/**
 * What the nodes and pods of a snapshot take, in every index at once: room, rules between pods, devices. Each change here is undone by its
 * opposite. Must not know forks.
 */
import { isDeepStrictEqual } from 'node:util';
import { NAMESPACE_NAME } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { CommonDevices } from '../devices/common-devices.ts';
import { DeviceLedger, type DeviceSeat } from '../devices/device-ledger.ts';
import { NodeSlots } from './node-slots.ts';
import type { FitIndexes } from './pod-fit.ts';
import { type CompiledShape, ShapeTable } from './shape-table.ts';
import { TopologyIndex } from './topology-index.ts';

/** Beyond these sizes, cached data is dropped at the next sync, so that weeks of churn do not let it grow for ever. */
const MAX_COUNTERS = 5_000;
/** Host names are topology values: every counter keeps a place for each that ever existed, so old ones must be dropped. */
const SPARE_DOMAINS = 10_000;

/** The labels of namespaces influence which pods a term matches, so a change of them drops the caches too. */
function mustClear(ledger: TopologyIndex, namespaces: ClusterView['namespaces'], cluster: ClusterView): boolean {
  if (ledger.size > MAX_COUNTERS) return true;
  if (ledger.domains > SPARE_DOMAINS + 2 * cluster.nodes.size) return true;
  return ledger.size > 0 && !sameNamespaces(namespaces, cluster.namespaces);
}

function sameNamespaces(left: ClusterView['namespaces'], right: ClusterView['namespaces']): boolean {
  if (left === right) return true;
  if (left.size !== right.size) return false;
  for (const [name, labels] of left) {
    const other = right.get(name);
    if (other !== labels && (other === undefined || !isDeepStrictEqual(other, labels))) return false;
  }
  return true;
}

const NO_PODS: readonly Pod[] = [];

export class ClusterIndexes implements FitIndexes {
  readonly names: ResourceNames;
  slots: NodeSlots;
  ledger: TopologyIndex;
  shapes: ShapeTable;
  devices: DeviceLedger;
  namespaces: ClusterView['namespaces'] = new Map();
  #common = CommonDevices.of();

  constructor(names: ResourceNames) {
    this.names = names;
    this.slots = new NodeSlots(names);
    this.ledger = this.#newLedger();
    this.shapes = new ShapeTable(this.ledger);
    this.devices = this.#newDevices();
  }

  /** Whether they are to be cleared before they follow this view. */
  isOutdated(cluster: ClusterView): boolean {
    return this.#common !== CommonDevices.of(cluster.commonDevices) || mustClear(this.ledger, this.namespaces, cluster);
  }

  clear({ commonDevices }: Pick<ClusterView, 'commonDevices'>): void {
    this.#common = CommonDevices.of(commonDevices);
    this.slots = new NodeSlots(this.names);
    this.ledger = this.#newLedger();
    this.shapes = new ShapeTable(this.ledger);
    this.devices = this.#newDevices();
  }

  #newDevices(): DeviceLedger {
    return new DeviceLedger((slot) => this.slots.nodeAt(slot), this.#common);
  }

  compiled(shape: PodShape): CompiledShape {
    const compiled = this.shapes.of(shape);
    this.slots.widen(compiled.width);
    return compiled;
  }

  load(slot: number, node: Node, pods: readonly Pod[]): void {
    this.slots.seat(slot, node);
    this.ledger.moveNode(slot, node, 1);
    this.slots.adopt(slot, NO_PODS);
    this.devices.seat(slot, node);
    for (const pod of pods) {
      this.countPod(pod, slot);
      this.devices.allocateFor(slot, pod);
    }
    this.slots.adopt(slot, pods);
  }

  unload(slot: number): DeviceSeat | undefined {
    for (const pod of this.slots.podsAt(slot)) this.uncountPod(pod, slot);
    this.ledger.moveNode(slot, this.slots.nodeAt(slot), -1);
    this.slots.vacate(slot);
    return this.devices.vacate(slot);
  }

  countPod(pod: Pod, slot: number): void {
    const compiled = this.compiled(pod.shape);
    this.slots.takeResources(slot, compiled);
    this.ledger.movePod(compiled.ties, slot, 1, pod.deletionAtMs !== undefined);
  }

  uncountPod(pod: Pod, slot: number): void {
    const compiled = this.compiled(pod.shape);
    this.slots.returnResources(slot, compiled);
    this.ledger.movePod(compiled.ties, slot, -1, pod.deletionAtMs !== undefined);
  }

  #newLedger(): TopologyIndex {
    return new TopologyIndex(this.slots, (namespace) => this.namespaces.get(namespace) ?? { [NAMESPACE_NAME]: namespace });
  }
}
