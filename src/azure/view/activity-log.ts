/**
 * Who changed a capacity, by the name that Azure's activity log gives. A question follows a change by another writer, after the time that
 * the log needs, and there are few of them. The answer is an event for people; nothing waits for it. Must not know who reads it.
 */
import type { TokenCredential } from '@azure/core-auth';
import type { CloudEvent } from '../../domain/observation.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ArmCalls } from '../arm/arm-client.ts';
import { jsonOf } from '../arm/error-bodies.ts';
import type { AzureOptions } from '../arm/options.ts';
import { type ArmClients, claimsOfToken } from '../arm/sdk-clients.ts';
import { callersOf, type OwnIdentity, type CapacityWrite } from './activity-log-entries.ts';
import { isRecord } from '../../lib/json.ts';

const MINUTE = 60_000;
/** After the change was seen. Entries appear in the log within minutes, sometimes within half an hour. */
const LOOKS_AFTER_MS = [3 * MINUTE, 10 * MINUTE, 30 * MINUTE];
/** A pool that another autoscaler scales changes all the time. */
const MOST_PER_HOUR = 12;
const HOUR = 60 * MINUTE;
/** Before the change was seen: a list of scale sets may be minutes old. */
const LOOK_BACK_MS = 15 * MINUTE;
/** The code of a 403. An expired token gets a 401. */
const NO_RIGHT = 'AuthorizationFailed';
const FIELDS = 'caller,claims,eventTimestamp,operationName,status';

export interface ActivityLogDeps {
  readonly options: Pick<AzureOptions, 'armEndpoint' | 'subscriptionId' | 'scopes'>;
  readonly calls: ArmCalls;
  readonly clients: Pick<ArmClients, 'getRaw'>;
  readonly credential: TokenCredential;
  readonly clock: Clock;
  readonly log: Log;
  /** Receives what was found. It wakes nothing. */
  readonly add: (event: CloudEvent) => void;
  readonly closing: AbortSignal;
}

interface SeenChange extends CapacityWrite {
  readonly group: NodeGroupId;
  readonly from: number;
  readonly to: number;
}

export class ActivityLog {
  readonly #deps: ActivityLogDeps;
  /** Changes without a name, by the ARM id of the scale set or agent pool. One is in here while it is followed. */
  readonly #open = new Map<string, SeenChange[]>();
  #askedMs: number[] = [];
  #isRefused = false;

  constructor(deps: ActivityLogDeps) {
    this.#deps = deps;
  }

  /** Returns at once. `armId`: of the scale set or agent pool. */
  note(armId: string, change: SeenChange): void {
    if (this.#isRefused) return;
    const open = this.#open.get(armId);
    if (open !== undefined) return void open.push(change);
    this.#open.set(armId, [change]);
    void this.#follow(armId);
  }

  /** Never rejects. Changes that are seen meanwhile are looked for, too, in the looks that are left. */
  async #follow(armId: string): Promise<void> {
    const { clock, closing } = this.#deps;
    try {
      let waitedMs = 0;
      for (const afterMs of LOOKS_AFTER_MS) {
        await clock.sleep(afterMs - waitedMs, closing);
        waitedMs = afterMs;
        if (this.#open.get(armId)?.length === 0 || this.#isRefused) break;
        await this.#look(armId);
      }
    } catch (thrown) {
      this.#giveUp(asAutoscalerError(thrown));
    } finally {
      this.#open.delete(armId);
    }
  }

  /** A question that fails is asked again with the next look. */
  async #look(armId: string): Promise<void> {
    if (!this.#mayAsk()) return;
    const open = this.#open.get(armId) ?? [];
    try {
      const [entries, own] = [await this.#read(armId, Math.min(...open.map(({ atMs }) => atMs)) - LOOK_BACK_MS), await this.#ownIdentity()];
      const left = open.filter((change) => !this.#name(change, callersOf(entries, change, own)));
      open.splice(0, open.length, ...left);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled' || error.code === NO_RIGHT) throw error;
      this.#deps.log.debug({ error: error.message }, 'Activity log could not be read');
    }
  }

  #name({ group, from, to, atMs: changedAtMs }: SeenChange, callers: readonly string[]): boolean {
    if (callers.length === 0) return false;
    this.#deps.add({ kind: 'change-attributed', group, from, to, changedAtMs, by: callers.join(', '), atMs: this.#deps.clock.now() });
    return true;
  }

  #mayAsk(): boolean {
    const nowMs = this.#deps.clock.monotonic();
    this.#askedMs = this.#askedMs.filter((ms) => nowMs - ms < HOUR);
    if (this.#askedMs.length >= MOST_PER_HOUR) return false;
    this.#askedMs.push(nowMs);
    return true;
  }

  /** One page, the newest entries first. */
  async #read(armId: string, fromMs: number): Promise<readonly unknown[]> {
    const { options, calls, clients, clock, closing } = this.#deps;
    const [from, until] = [new Date(fromMs).toISOString(), new Date(clock.now()).toISOString()];
    const filter = `eventTimestamp ge '${from}' and eventTimestamp le '${until}' and resourceUri eq '${armId}'`;
    const path = `/subscriptions/${options.subscriptionId}/providers/Microsoft.Insights/eventtypes/management/values`;
    const query = new URLSearchParams({ 'api-version': '2015-04-01', $filter: filter, $select: FIELDS });
    const url = `${options.armEndpoint.replace(/\/+$/, '')}${path}?${query.toString().replaceAll('%24', '$').replaceAll('+', '%20')}`;
    const response = await calls.run({ operation: 'listActivityLog', resource: '' }, closing, () => clients.getRaw(url));
    const body = jsonOf(response.bodyAsText);
    return isRecord(body) && Array.isArray(body['value']) ? body['value'] : [];
  }

  /** The token is in the memory of the credential: a call was just made with it. */
  async #ownIdentity(): Promise<OwnIdentity> {
    const { options, credential, closing } = this.#deps;
    const claims = await claimsOfToken(credential, options, closing);
    return [claims['appid'], claims['oid'], claims['upn']].filter((id) => typeof id === 'string');
  }

  /** Without the right, no further question is asked. */
  #giveUp({ kind, message }: ReturnType<typeof asAutoscalerError>): void {
    if (kind === 'cancelled' || this.#isRefused) return;
    this.#isRefused = true;
    this.#deps.log.warn({ error: message }, 'Activity log not readable; other writers stay without a name until the next start');
  }
}
