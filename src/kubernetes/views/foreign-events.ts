/** Reads what another autoscaler says in its events. A right that is missing leaves its reasons unknown. Must not know what they mean. */
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ObjectJson } from '../api/core-json.ts';
import type { ForeignEvent } from '../api/options.ts';
import type { Rest } from '../api/rest.ts';

interface EventJson extends ObjectJson {
  readonly involvedObject?: { readonly kind?: string; readonly namespace?: string; readonly name?: string };
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

/** Of one read. A cluster keeps events for an hour, and one autoscaler makes few. */
const MOST_EVENTS = 500;
const MOST_TEXT = 300;

export class ForeignEvents {
  readonly #deps: { readonly rest: Pick<Rest, 'json'>; readonly log: Log };
  #isRefused = false;

  constructor(deps: { readonly rest: Pick<Rest, 'json'>; readonly log: Log }) {
    this.#deps = deps;
  }

  /** Events of the component that happened later than this. Empty if they cannot be read, which is logged once. */
  async since(component: string, sinceMs: number, signal: AbortSignal): Promise<readonly ForeignEvent[]> {
    if (this.#isRefused) return [];
    const query = { fieldSelector: `source=${component}`, limit: MOST_EVENTS };
    try {
      const list = (await this.#deps.rest.json({ method: 'GET', path: '/api/v1/events', query }, signal)) as {
        readonly items?: readonly EventJson[];
      };
      return (list.items ?? []).flatMap(foreignEvent).filter(({ atMs }) => atMs > sinceMs);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') return [];
      // Only an operator can give the right; the others pass.
      this.#isRefused = error.kind === 'auth';
      this.#deps.log.info({ component, error: error.message }, 'Events of the other autoscaler could not be read; its reasons are unknown');
      return [];
    }
  }
}

function foreignEvent({ involvedObject = {}, reason = '', message = '', lastTimestamp, eventTime }: EventJson): readonly ForeignEvent[] {
  const atMs = Date.parse(lastTimestamp ?? eventTime ?? '');
  const { kind = '', namespace = '', name = '' } = involvedObject;
  if (Number.isNaN(atMs)) return [];
  return [{ atMs, about: `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`, reason, message: message.slice(0, MOST_TEXT) }];
}
