/** What a source of recordings can and cannot see of failures, as sentences for readers of the recording. Pure. */

interface Sight {
  /** Whether the events of an autoscaler are read. */
  readonly events: boolean;
  /** Whether Azure is read. */
  readonly azure: boolean;
}

/** How long a refusal is taken to last. */
const REFUSALS =
  'Lack of stock, used-up quotas and throttling are known only for moments at which an autoscaler asked Azure for nodes and published the refusal as an event. Each is taken to last until the next node of its kind joined, at most 5 minutes after the last refusal; without a zone, in every zone.';

export const NO_EVENTS = 'What Azure refused (stock, quotas, throttling) is not in the recording: events could not be read.';
export const FROM_DUMPS =
  'What Azure refused (stock, quotas, throttling) is that of the decisions that were imported, which this autoscaler writes only when it changes something. Each refusal is taken to last until the next node of its kind joined, at most 5 minutes after the last one.';

export function visibilityNotes({ events, azure }: Sight): readonly string[] {
  return [
    events ? REFUSALS : NO_EVENTS,
    ...(azure
      ? []
      : [
          `Azure was not read: VMs that never became nodes are ${events ? 'known only as an autoscaler reported them' : 'not in the recording'}.`,
        ]),
  ];
}
