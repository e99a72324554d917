/**
 * Other clients of a subscription, which use up a limit of Azure: first what is saved up, then most of what is added. What they took since
 * is charged when the next call comes, so that they need no events of their own.
 */
import type { Subscription } from '../../../world/simulator/arm/state/arm-state.ts';
import type { Charge } from '../../../world/simulator/arm/http/throttling.ts';
import type { VirtualSimClock } from '../../../world/simulator/base/sim-clock.ts';
import { MINUTE } from '../../scenarios/support.ts';

export interface OtherClients {
  readonly method: string;
  /** If absent, only the limits of the gateway. */
  readonly compute?: 'HighCostGetVMScaleSet' | 'CreateVMScaleSet';
  /** Calls. */
  readonly aMinute: number;
}

/** More than any limit saves up. */
const MOST_SAVED = 20_000;

/** @returns what ends it. */
export function useUpLimit(
  { subscription: { throttle }, clock }: { readonly subscription: Subscription; readonly clock: Pick<VirtualSimClock, 'now'> },
  { method, compute, aMinute }: OtherClients,
): () => void {
  const charge = throttle.charge.bind(throttle);
  const startMs = clock.now();
  const take = (number: number): boolean => {
    const client = `others-${number}`;
    const call: Charge = { method, clientId: client, subscription: 'any', resource: client, ...(compute === undefined ? {} : { compute }) };
    return charge(call).refusal === undefined;
  };
  let calls = 0;
  for (; calls < MOST_SAVED && take(calls); calls++);
  const saved = calls;
  throttle.charge = (call) => {
    const due = saved + ((clock.now() - startMs) * aMinute) / MINUTE;
    for (; calls < due; calls++) take(calls);
    return charge(call);
  };
  return () => (throttle.charge = charge);
}
