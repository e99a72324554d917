/**
 * The groups that the user's selection makes of the known rows, and the agent pools that were last listed for all of them. Sends no call.
 * Idea: node group.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Table } from '../../cache/table/table.ts';
import { NO_SCHEDULES } from '../../domain/schedule-rules.ts';
import type { Log } from '../../telemetry/log.ts';
import type { GroupSelection } from '../arm/options.ts';
import { GroupRegistry, type RegisteredGroup, type Registration } from '../groups/registry.ts';
import { isSettled, type AgentPools } from '../rows/agent-pool.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import type { PoolSizeRow } from '../rows/vms-pool.ts';

export interface KnownGroupsDeps {
  readonly selection: GroupSelection;
  readonly scaleSets: Table<ScaleSetRow>;
  readonly poolSizes: Table<PoolSizeRow>;
  readonly log: Log;
}

export class KnownGroups {
  readonly #deps: KnownGroupsDeps;
  readonly #registry: GroupRegistry;
  #selection: GroupSelection;
  #pools: AgentPools | undefined;

  constructor(deps: KnownGroupsDeps) {
    this.#deps = deps;
    this.#selection = deps.selection;
    this.#registry = new GroupRegistry(deps.log);
  }

  /** The selected groups, with options for single ones. */
  get selection(): GroupSelection {
    return this.#selection;
  }

  /** undefined: never listed. */
  get pools(): AgentPools | undefined {
    return this.#pools;
  }

  keepPools(pools: AgentPools): void {
    this.#pools = pools;
  }

  /** Returns false if these groups, limits and options are selected already. */
  select({ nodeGroups, discovery, nodeGroupOptions = [], schedules = NO_SCHEDULES }: GroupSelection): boolean {
    const { nodeGroups: named, discovery: rules, nodeGroupOptions: stated = [], schedules: times = NO_SCHEDULES } = this.#selection;
    if (isDeepStrictEqual([nodeGroups, discovery, nodeGroupOptions, schedules], [named, rules, stated, times])) return false;
    this.#selection = { ...this.#selection, nodeGroups, discovery, nodeGroupOptions, schedules };
    return true;
  }

  /** Returns the same object until a scale set, a pool or one of its sizes changes. */
  registration(): Registration {
    const { scaleSets, poolSizes } = this.#deps;
    const version = scaleSets.version + poolSizes.version;
    return this.#registry.registrationFrom({ selection: this.#selection, version, scaleSets, poolSizes, pools: this.#pools });
  }

  groups(): Iterable<RegisteredGroup> {
    return this.registration().groups.values();
  }

  /** The groups that have no scale set. */
  vmsGroups(): readonly string[] {
    return [...this.groups()].flatMap(({ kind, key }) => (kind === 'vms-pool' ? [key] : []));
  }

  /** Whether the list of agent pools shows sizes of groups. */
  hasVmsPool(): boolean {
    return this.#listedPools().some(({ type }) => type === 'VirtualMachines');
  }

  /** Whether the list of agent pools shows an operation in progress. */
  hasOperation(): boolean {
    return this.#listedPools().some(({ provisioningState }) => !isSettled(provisioningState));
  }

  #listedPools() {
    return [...(this.#pools?.byName.values() ?? [])];
  }
}
