/**
 * What no loop may pass, with repacking, headroom, schedules and budgets turned on together: minimums and maximums, quotas, removal windows and what
 * repacks may take. Random small clusters live for half an hour; each write is judged when it is requested, not when it is carried out.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NodeGroupId } from '../../src/domain/ids.ts';
import type { LoopReport } from '../../src/domain/loop-report.ts';
import type { NodeGroup } from '../../src/domain/node-group.ts';
import type { Policy } from '../../src/domain/policy.ts';
import { DEFAULT_REPACK } from '../../src/domain/repack.ts';
import { aGroup, aNode, aPod, aTemplate, START_MS } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { casesOf } from '../support/property-runs.ts';
import { aStage } from './support.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LOOP_MS = 30_000;
const LOOPS = 60;
/** A requested node joins after so many loops. */
const JOINS_AFTER = 3;

const pool = fc.record({
  size: fc.integer({ min: 0, max: 4 }),
  min: fc.integer({ min: 0, max: 2 }),
  room: fc.integer({ min: 0, max: 3 }),
  cpu: fc.constantFrom(4, 8),
  price: fc.constantFrom(0.1, 0.2, 0.5),
  headroom: fc.constantFrom(0, 0, 1),
  /** Of a rule that holds in the middle of the half hour, inside the pool's own limits. */
  ruleMin: fc.integer({ min: 0, max: 3 }),
  ruleMax: fc.integer({ min: 0, max: 6 }),
  heldByRule: fc.boolean(),
});
const world = fc.record({
  pools: fc.array(pool, { minLength: 2, maxLength: 3 }),
  pods: fc.array(fc.record({ node: fc.nat(11), cpu: fc.constantFrom(0.5, 1, 2), old: fc.constantFrom(true, true, true, false) }), {
    minLength: 3,
    maxLength: 14,
  }),
  /** Pods that come or end in a loop. */
  changes: fc.array(fc.record({ loop: fc.nat(LOOPS - 10), came: fc.integer({ min: -4, max: 4 }), cpu: fc.constantFrom(1, 3) }), {
    maxLength: 4,
  }),
  rule: fc.record({ from: fc.nat(30), loops: fc.integer({ min: 5, max: 30 }) }),
  maxNodesTotal: fc.constantFrom(0, 0, 6, 8),
  maxCores: fc.constantFrom(320_000, 40, 56),
  window: fc.integer({ min: 1, max: 4 }),
  budget: fc.constantFrom(undefined, 1, 2),
  perHour: fc.integer({ min: 1, max: 4 }),
  atOnce: fc.integer({ min: 1, max: 3 }),
});
type Drawn = typeof world extends fc.Arbitrary<infer Value> ? Value : never;

const idOf = (at: number): string => `p${at}`;
const vmSizeOf = (at: number): string => `Standard_${idOf(at)}`;
const targetOf = ({ target }: NodeGroup): number => (target.known ? target.value : 0);

function policyOf({ pools, maxNodesTotal, maxCores, window, budget, perHour, atOnce }: Drawn): Policy {
  const prices = Object.fromEntries(pools.map(({ price }, at) => [vmSizeOf(at).toLowerCase(), price]));
  return {
    ...aPolicy({
      scaleUp: { expanders: ['price', 'least-waste'], prices, maxNodesTotal, maxCoresTotal: maxCores },
      scaleDown: {
        unneededForMs: 2 * MINUTE,
        delayAfterAddMs: MINUTE,
        maxRemovalsPerWindow: window,
        maxParallelDrains: 3,
        budgets: budget === undefined ? [] : [{ unit: 'nodes', amount: budget, per: 'pool', causes: ['empty', 'underutilized'] }],
      },
    }),
    repack: {
      ...DEFAULT_REPACK,
      enabled: true,
      minScore: 0.1,
      confirmAfterMs: MINUTE,
      searchEveryMs: MINUTE,
      maxNodesPerHour: perHour,
      maxNodesAtOnce: atOnce,
    },
  };
}

function groupsOf({ pools }: Drawn): readonly NodeGroup[] {
  return pools.map(({ size, min, room, cpu, headroom }, at) =>
    aGroup({
      id: idOf(at),
      target: size,
      minSize: min,
      maxSize: Math.max(min, size) + room,
      vmSize: vmSizeOf(at),
      template: aTemplate({ cpu: String(cpu), memory: '64Gi' }),
      options: headroom === 0 ? {} : { headroom: [{ kind: 'nodes', nodes: headroom }] },
    }),
  );
}

/** A small cluster that lives: nodes join and go, pods are placed where they fit, and rules hold for a while. */
class Life {
  readonly stage: ReturnType<typeof aStage>;
  readonly broken: string[] = [];
  readonly seen = { increases: 0, deletes: 0, repacks: 0, repacked: 0, ruled: 0 };
  readonly #drawn: Drawn;
  readonly #plain: ReadonlyMap<string, NodeGroup>;
  readonly #asked = new Map<string, number>();
  readonly #deletedMs: { readonly group: NodeGroupId; readonly atMs: number }[] = [];
  readonly #repackedMs: number[] = [];
  #draining: ReadonlySet<string> = new Set();
  #loop = 0;
  #serial = 0;

  constructor(drawn: Drawn) {
    this.#drawn = drawn;
    const groups = groupsOf(drawn);
    this.#plain = new Map(groups.map((group) => [group.id, group]));
    const names = groups.flatMap(({ instances = [] }) => instances.map(({ instanceId }) => instanceId));
    const nodes = names.map((name) => aNode({ name, cpu: String(this.#cpuOf(name)), memory: '64Gi' }));
    this.stage = aStage({ groups, nodes, policy: policyOf(drawn) });
    for (const { node, cpu, old } of drawn.pods)
      this.#addPod(cpu, names[node % Math.max(1, names.length)], old ? START_MS - 2 * HOUR : START_MS);
    const { cloud } = this.stage;
    cloud.onIncrease = ({ group, to }) => {
      this.#judgeIncrease(group, to);
      return undefined;
    };
    cloud.onDelete = ({ group, instances, allowBelowMin }) => {
      this.#judgeDelete(group, instances.length, allowBelowMin);
      return undefined;
    };
  }

  async live(): Promise<void> {
    for (; this.#loop < LOOPS; this.#loop++) {
      this.#follow();
      const report = await this.stage.runOnce();
      this.#judgeLoop(report);
      await this.stage.clock.advance(LOOP_MS);
    }
    this.stage.stop.abort();
  }

  get #nowMs(): number {
    return this.stage.clock.now();
  }

  #cpuOf(node: string): number {
    return this.#drawn.pools[Number(/^p(\d)/.exec(node)?.[1] ?? 0)]?.cpu ?? 0;
  }

  #addPod(cpu: number, nodeName: string | undefined, createdAtMs: number): void {
    const wanted =
      nodeName !== undefined && this.#freeOn(nodeName) >= cpu ? { nodeName } : { unschedulable: { sinceMs: createdAtMs, message: '' } };
    const pod = aPod({ name: `web-${this.#serial++}`, cpu: `${cpu * 1000}m`, memory: '1Mi', createdAtMs, ...wanted });
    this.stage.cluster.pods.set(pod.uid, pod);
  }

  #freeOn(node: string): number {
    const used = this.stage.cluster.podsOn(node).reduce((sum, { shape }) => sum + (shape.requests[0] ?? 0), 0);
    return this.#cpuOf(node) - used / 1000;
  }

  /** What the world does between two loops. */
  #follow(): void {
    const { cloud, cluster } = this.stage;
    const lost = [...cluster.pods.values()].filter(({ deletionAtMs }) => deletionAtMs !== undefined);
    for (const { uid } of lost) cluster.pods.delete(uid);
    const gone = cloud.finishDeletions();
    lost.push(...gone.flatMap((node) => cluster.podsOn(node)));
    for (const node of gone) cluster.removeNode(node);
    for (const { shape } of lost) this.#addPod((shape.requests[0] ?? 0) / 1000, undefined, this.#nowMs);
    this.#join();
    this.#applyRule();
    for (const { loop, came, cpu } of this.#drawn.changes) if (loop === this.#loop) this.#change(came, cpu);
    this.#place();
  }

  #change(came: number, cpu: number): void {
    for (let at = 0; at < came; at++) this.#addPod(cpu, undefined, this.#nowMs);
    for (const uid of [...this.stage.cluster.pods.keys()].slice(0, Math.max(0, -came))) this.stage.cluster.pods.delete(uid);
  }

  #join(): void {
    const { cloud, cluster } = this.stage;
    for (const group of cloud.groups.values()) {
      const instances = (group.instances ?? []).map((instance) => {
        if (instance.state !== 'creating') return instance;
        const since = this.#asked.get(instance.instanceId);
        if (since === undefined) {
          this.#asked.set(instance.instanceId, this.#loop);
          return { ...instance, firstSeenMs: this.#nowMs };
        }
        if (this.#loop - since < JOINS_AFTER) return instance;
        const name = instance.instanceId;
        cluster.nodes.set(name, aNode({ name, cpu: String(this.#cpuOf(name)), memory: '64Gi', createdAtMs: this.#nowMs }));
        return { ...instance, state: 'running' as const };
      });
      cloud.groups.set(group.id, { ...group, instances });
    }
  }

  #place(): void {
    const { cluster } = this.stage;
    const open = [...cluster.nodes.values()].filter(
      ({ taints, unschedulable }) => taints.every(({ effect }) => effect === 'PreferNoSchedule') && !unschedulable,
    );
    for (const pod of cluster.pods.values()) {
      if (pod.nodeName !== undefined) continue;
      const cpu = (pod.shape.requests[0] ?? 0) / 1000;
      const node = open.find(({ name }) => this.#freeOn(name) >= cpu);
      if (node !== undefined)
        cluster.pods.set(pod.uid, { ...pod, nodeName: node.name, phase: 'Running', unschedulable: undefined, ready: true });
    }
  }

  get #isRuled(): boolean {
    const { from, loops } = this.#drawn.rule;
    return this.#loop >= from && this.#loop < from + loops;
  }

  /** As the adapter shows it: inside the pool's own limits, and a maximum bounds a minimum. */
  #applyRule(): void {
    const { groups } = this.stage.cloud;
    this.#drawn.pools.forEach(({ ruleMin, ruleMax, heldByRule }, at) => {
      const [plain, group] = [this.#plain.get(idOf(at)), groups.get(idOf(at) as NodeGroupId)];
      if (plain === undefined || group === undefined) return;
      const maxSize = this.#isRuled ? Math.min(plain.maxSize, Math.max(ruleMax, plain.minSize)) : plain.maxSize;
      const minSize = this.#isRuled ? Math.min(maxSize, Math.max(ruleMin, plain.minSize)) : plain.minSize;
      const held = aGroup({ id: idOf(at), ...(this.#isRuled && heldByRule ? { removalsHeld: 'a rule holds removals' } : {}) });
      if (minSize !== group.minSize || maxSize !== group.maxSize) this.seen.ruled += 1;
      groups.set(group.id, { ...group, minSize, maxSize, blocks: held.blocks });
    });
  }

  #judgeIncrease(id: NodeGroupId, to: number): void {
    this.seen.increases += 1;
    const { maxNodesTotal, maxCores } = this.#drawn;
    const groups = [...this.stage.cloud.groups.values()];
    const sizes = groups.map((group) => (group.id === id ? to : targetOf(group)));
    const group = this.stage.cloud.groups.get(id);
    const raised = to - (group === undefined ? 0 : targetOf(group));
    const nodes = sizes.reduce((sum, size) => sum + size, 0);
    const cores = groups.reduce((sum, each, at) => sum + (sizes[at] ?? 0) * this.#cpuOf(each.id), 0);
    if (group === undefined || to > group.maxSize) this.#fail(`${id} to ${to}, above its maximum of ${group?.maxSize ?? 0}`);
    if (raised <= 0) this.#fail(`${id} to ${to}, which is no increase`);
    if (maxNodesTotal > 0 && nodes > maxNodesTotal) this.#fail(`${nodes} of ${maxNodesTotal} nodes`);
    if (cores > maxCores) this.#fail(`${cores} of ${maxCores} cores`);
  }

  #judgeDelete(id: NodeGroupId, count: number, allowBelowMin: boolean): void {
    this.seen.deletes += count;
    const group = this.stage.cloud.groups.get(id);
    const left = (group === undefined ? 0 : targetOf(group)) - count;
    if (!allowBelowMin && left < (group?.minSize ?? 0)) this.#fail(`${id} to ${left}, below its minimum of ${group?.minSize ?? 0}`);
    for (let at = 0; at < count; at++) this.#deletedMs.push({ group: id, atMs: this.#nowMs });
    const within = this.#deletedMs.filter(({ atMs }) => this.#nowMs - atMs < 10 * MINUTE);
    if (within.length > this.#drawn.window) this.#fail(`${within.length} of ${this.#drawn.window} removals within the window`);
    const ofPool = within.filter((each) => each.group === id).length;
    const { budget } = this.#drawn;
    if (budget !== undefined && ofPool > budget) this.#fail(`${ofPool} of ${budget} removals of ${id} within its budget`);
  }

  #judgeLoop({ scaleDown, state, observation }: LoopReport): void {
    const held = new Set(this.#drawn.pools.flatMap(({ heldByRule }, at) => (this.#isRuled && heldByRule ? [idOf(at)] : [])));
    for (const { node, group } of scaleDown?.removals ?? [])
      if (held.has(group)) this.#fail(`${node} of ${group}, whose removals a rule holds`);
    this.seen.repacks += state.repacks.running.filter(({ sinceMs }) => sinceMs === observation?.nowMs).length;
    const draining = state.repacks.running.flatMap(({ stage, set }) => (stage === 'draining' ? set.remove.map(({ node }) => node) : []));
    for (const node of draining.filter((name) => !this.#draining.has(name))) this.#judgeRepacked(node);
    this.#draining = new Set(draining);
    const within = this.#repackedMs.filter((atMs) => this.#nowMs - atMs < HOUR);
    if (within.length > this.#drawn.perHour) this.#fail(`${within.length} of ${this.#drawn.perHour} repacked nodes within an hour`);
    for (const { set } of state.repacks.running)
      if (set.remove.length > this.#drawn.atOnce) this.#fail(`${set.remove.length} of ${this.#drawn.atOnce} nodes in one repack`);
  }

  #judgeRepacked(node: string): void {
    this.seen.repacked += 1;
    this.#repackedMs.push(this.#nowMs);
    const young = this.stage.cluster.podsOn(node).find(({ createdAtMs }) => this.#nowMs - createdAtMs < HOUR);
    if (young !== undefined) this.#fail(`a repack moves ${young.name}, which is ${(this.#nowMs - young.createdAtMs) / MINUTE} min old`);
  }

  #fail(what: string): void {
    this.broken.push(`loop ${this.#loop}: ${what}`);
  }
}

describe('loops with repacking, headroom, rules and budgets', () => {
  it('pass no minimum, maximum, quota, removal window or budget, and repack no young pod', async () => {
    const seen = { increases: 0, deletes: 0, repacks: 0, repacked: 0, ruled: 0 };
    await fc.assert(
      fc.asyncProperty(world, async (drawn) => {
        const life = new Life(drawn);
        await life.live();
        for (const key of Object.keys(seen) as (keyof typeof seen)[]) seen[key] += life.seen[key];
        expect(life.broken).toEqual([]);
      }),
      casesOf(2_911, 12),
    );
    expect(Object.entries(seen).filter(([, count]) => count < 4)).toEqual([]);
  });
});
