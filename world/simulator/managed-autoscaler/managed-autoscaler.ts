/**
 * An imitation of the Cluster Autoscaler that AKS runs over pools with `enableAutoScaling`, with the profile of the cluster. It reads and changes both sides of the world as another client would, and says why in events of its own component.
 * It looks neither at topology nor at volumes, and scales only pools with scale sets. Must not know the program under test.
 */
import { seededRandom, stableHash } from '../../../src/lib/random.ts';
import type { ArmControl } from '../arm/control/control.ts';
import type { SimClock } from '../base/sim-clock.ts';
import type { WorldSpec } from '../base/world-spec.ts';
import type { SimCluster } from '../cluster/cluster.ts';
import { controllerOf, type BudgetObject, type DaemonSetObject, type KubeObject, type NodeObject } from '../cluster/store/objects.ts';
import { growthOptions, podsWithoutRoom, type GrowthOption } from './growth.ts';
import { DELETION_TAINT, poolViews, type ClusterContents, type PoolView } from './pool-view.ts';
import { profileOf, type AutoscalerProfile } from './profile.ts';
import { unneededNodes, type UnneededNode } from './removal.ts';

export interface AutoscaledWorld {
  readonly spec: WorldSpec;
  readonly clock: SimClock;
  readonly arm: Pick<ArmControl, 'state' | 'raise'>;
  readonly cluster: Pick<SimCluster, 'store' | 'apply' | 'evict' | 'recordEvent'>;
}

/** The `source` of its events, as users see it. */
const MANAGED_COMPONENT = 'cluster-autoscaler';

/** Starts it. @returns a function that stops it. */
export function startManagedAutoscaler(world: AutoscaledWorld): () => void {
  const scanner = new Scanner(world);
  let cancel = (): void => undefined;
  const wait = (): void => {
    cancel = world.clock.after(scanner.intervalMs, () => {
      scanner.scan();
      wait();
    });
  };
  wait();
  return () => cancel();
}

interface PoolBackoff {
  readonly untilMs: number;
  readonly durationMs: number;
}

class Scanner {
  readonly #world: AutoscaledWorld;
  /** As of this scan. */
  #profile: AutoscalerProfile;
  readonly #unneededSince = new Map<string, number>();
  readonly #backoffs = new Map<string, PoolBackoff>();
  /** Nodes that are being drained, and since when. */
  readonly #draining = new Map<string, number>();
  #restsUntilMs = 0;
  #scans = 0;

  constructor(world: AutoscaledWorld) {
    this.#world = world;
    this.#profile = profileOf(world.arm.state().autoScalerProfile);
  }

  get intervalMs(): number {
    return this.#profile.scanIntervalMs;
  }

  scan(): void {
    this.#scans += 1;
    const contents = this.#contents();
    const state = this.#world.arm.state();
    this.#profile = profileOf(state.autoScalerProfile);
    const pools = poolViews(this.#world.spec, state, contents);
    this.#removeFailed(pools);
    const hasGrown = this.#grow(contents, pools);
    this.#continueDrains(contents, pools);
    if (!hasGrown) this.#shrink(contents, pools);
  }

  /** Simulated time, in which the profile counts: the clock may run faster than the time of day. */
  #nowMs(): number {
    return this.#world.clock.now() * this.#world.clock.speed;
  }

  #contents(): ClusterContents {
    const { store } = this.#world.cluster;
    return { nodes: store.nodes(), pods: store.pods(), daemonSets: store.list('daemonsets') as readonly DaemonSetObject[] };
  }

  #removeFailed(pools: readonly PoolView[]): void {
    for (const { spec, failed } of pools) {
      if (failed.length === 0) continue;
      this.#backOff(spec.name);
      this.#world.arm.raise({ foreignDelete: { pool: spec.name, instanceIds: failed } });
    }
  }

  #backOff(pool: string): void {
    const { firstBackoffMs, maxBackoffMs } = this.#profile;
    const before = this.#backoffs.get(pool);
    const durationMs = before === undefined ? firstBackoffMs : Math.min(maxBackoffMs, 2 * before.durationMs);
    this.#backoffs.set(pool, { durationMs, untilMs: this.#nowMs() + durationMs });
  }

  #grow(contents: ClusterContents, pools: readonly PoolView[]): boolean {
    const pods = podsWithoutRoom(contents, pools);
    const open = pools.filter(({ spec }) => (this.#backoffs.get(spec.name)?.untilMs ?? 0) <= this.#nowMs());
    const options = growthOptions(pods, open);
    const chosen = options[this.#randomIndex(options.length)];
    const helped = new Set(chosen?.pods ?? []);
    for (const pod of pods) if (!helped.has(pod)) this.#say(pod, 'NotTriggerScaleUp', notTriggered(options.length));
    return chosen !== undefined && this.#increase(chosen);
  }

  /** The expander `random`. */
  #randomIndex(length: number): number {
    return Math.floor(seededRandom(stableHash(`${this.#world.spec.seed}|managed-autoscaler|${this.#scans}`))() * length);
  }

  #increase({ pool, nodes, pods }: GrowthOption): boolean {
    const to = pool.target + nodes;
    const refused = this.#world.arm.raise({ foreignScale: { pool: pool.spec.name, to } });
    if (refused !== undefined) {
      this.#backOff(pool.spec.name);
      return false;
    }
    this.#restsUntilMs = Math.max(this.#restsUntilMs, this.#nowMs() + this.#profile.delayAfterAddMs);
    for (const pod of pods)
      this.#say(pod, 'TriggeredScaleUp', `pod triggered scale-up: [{${pool.set} ${pool.target}->${to} (max: ${pool.spec.max})}]`);
    return true;
  }

  #shrink(contents: ClusterContents, pools: readonly PoolView[]): void {
    const budgets = this.#world.cluster.store.list('poddisruptionbudgets') as readonly BudgetObject[];
    const unneeded = unneededNodes({ contents, budgets, pools, profile: this.#profile });
    const names = new Set(unneeded.map(({ node }) => node.metadata.name));
    for (const name of this.#unneededSince.keys()) if (!names.has(name)) this.#unneededSince.delete(name);
    for (const name of names) if (!this.#unneededSince.has(name)) this.#unneededSince.set(name, this.#nowMs());
    if (this.#restsUntilMs > this.#nowMs() || this.#draining.size > 0) return;
    const due = unneeded.filter(
      ({ node }) => this.#nowMs() - (this.#unneededSince.get(node.metadata.name) ?? Infinity) >= this.#profile.unneededForMs,
    );
    const empty = due.filter(({ pods }) => pods.length === 0).slice(0, this.#profile.maxEmptyAtOnce);
    for (const each of empty.length > 0 ? empty : due.slice(0, 1)) this.#begin(each);
  }

  /** Marks the node and evicts its pods. It is deleted when they are gone. */
  #begin({ node, pods }: UnneededNode): void {
    const value = String(Math.floor(this.#world.clock.now() / 1000));
    const taints = [...(node.spec.taints ?? []), { key: DELETION_TAINT, value, effect: 'NoSchedule' as const }];
    this.#world.cluster.apply({ ...node, spec: { ...node.spec, taints } });
    this.#draining.set(node.metadata.name, this.#nowMs());
    const reason = pods.length === 0 ? 'ScaleDownEmpty' : 'ScaleDown';
    this.#say(node, reason, pods.length === 0 ? 'node removed by cluster autoscaler' : 'marked the node as toBeDeleted/unschedulable');
  }

  #continueDrains(contents: ClusterContents, pools: readonly PoolView[]): void {
    for (const [name, sinceMs] of this.#draining) {
      const node = contents.nodes.find(({ metadata }) => metadata.name === name);
      const pool = pools.find(({ instances }) => instances.has(name));
      const left = contents.pods.filter((pod) => pod.spec.nodeName === name && controllerOf(pod)?.kind !== 'DaemonSet');
      if (node === undefined || pool === undefined) this.#draining.delete(name);
      else if (left.length === 0) this.#delete(pool, name);
      else if (this.#nowMs() - sinceMs > this.#profile.maxDrainMs) this.#giveUp(node);
      else for (const pod of left) if (pod.metadata.deletionTimestamp === undefined) this.#world.cluster.evict(pod);
    }
  }

  #delete(pool: PoolView, name: string): void {
    this.#draining.delete(name);
    this.#unneededSince.delete(name);
    const id = pool.instances.get(name);
    if (id !== undefined) this.#world.arm.raise({ foreignDelete: { pool: pool.spec.name, instanceIds: [id] } });
  }

  #giveUp(node: NodeObject): void {
    this.#draining.delete(node.metadata.name);
    this.#restsUntilMs = this.#nowMs() + this.#profile.delayAfterFailureMs;
    const taints = (node.spec.taints ?? []).filter(({ key }) => key !== DELETION_TAINT);
    this.#world.cluster.apply({ ...node, spec: { ...node.spec, taints } });
    this.#say(node, 'ScaleDownFailed', 'failed to drain the node, aborting ScaleDown');
  }

  #say(about: KubeObject, reason: string, message: string): void {
    this.#world.cluster.recordEvent(about, { type: 'Normal', reason, message, component: MANAGED_COMPONENT });
  }
}

function notTriggered(options: number): string {
  return `pod didn't trigger scale-up${options === 0 ? ': no node group could be increased for it' : ' (it would wait for another scale-up)'}`;
}
