/**
 * The caching agent of Azure's placement scores of Spot sizes. It exists only while an expander compares them, and asks for the sizes of Spot
 * pools alone, one question for five of them. Optional: without a score, pools are chosen by the rest of the chain.
 */
import { replacedRows, type CachingAgent } from '../../cache/agents/agent.ts';
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import {
  PLACEMENT_API_VERSION,
  placementBody,
  placementQuestions,
  projectPlacements,
  type PlacementQuestion,
  type PlacementRow,
  type SpotPlace,
} from '../sizes/placement-scores.ts';
import { PLACEMENT_AGENT } from '../rows/tables.ts';
import { cachingAgent, type AgentDeps } from './agents.ts';

const MINUTE = 60_000;
const PATH = '/subscriptions/{sub}/providers/Microsoft.Compute/locations/{location}/placementScores/spot/generate';

export interface PlacementAgentDeps extends AgentDeps {
  readonly places: () => readonly SpotPlace[];
  /** Receives each answer. */
  readonly keep: (rows: readonly PlacementRow[], atMs: number) => void;
}

export function placementAgent(deps: PlacementAgentDeps): CachingAgent {
  const policy = {
    intervalMs: 30 * MINUTE,
    jitter: { kind: 'spread', fraction: 0.2 } as const,
    errorIntervalMs: 10 * MINUTE,
    // A missing right does not pass by itself.
    maxErrorIntervalMs: 120 * MINUTE,
    timeoutMs: MINUTE,
    requestedRate: undefined,
  };
  const shape = {
    id: PLACEMENT_AGENT,
    kind: 'placementScores',
    order: 2,
    operation: 'getPlacementScores',
    policy,
    optional: true,
  } as const;
  return cachingAgent(shape, async ({ signal }) => {
    const answers: (readonly PlacementRow[])[] = [];
    let error: AutoscalerError | undefined;
    for (const question of placementQuestions(deps.places())) {
      try {
        answers.push(await askPlacement(deps, question, signal));
      } catch (thrown) {
        // What was answered before holds.
        error = asAutoscalerError(thrown);
        if (error.kind === 'cancelled') throw error;
        break;
      }
    }
    return {
      commit: () => {
        const nowMs = deps.clock.now();
        for (const rows of answers) deps.keep(rows, nowMs);
        return replacedRows(answers.reduce((sum, answer) => sum + answer.length, 0));
      },
      error,
    };
  });
}

/** Sends one question. @throws AutoscalerError */
export async function askPlacement(
  { options, clients, calls }: Pick<AgentDeps, 'options' | 'clients' | 'calls'>,
  question: PlacementQuestion,
  signal: AbortSignal,
): Promise<readonly PlacementRow[]> {
  const location = options.location.replaceAll(' ', '').toLowerCase();
  const path = clients.raw.pathUnchecked(PATH, options.subscriptionId, location);
  const response = await calls.run({ operation: 'getPlacementScores', resource: '' }, signal, async () =>
    path.post({
      queryParameters: { 'api-version': PLACEMENT_API_VERSION },
      contentType: 'application/json',
      body: placementBody(question, location),
    }),
  );
  // The pipeline policy has already thrown every other refusal.
  if (Number(response.status) === 401) throw new AutoscalerError({ kind: 'auth' }, 'Azure rejected the token for placement scores.');
  return projectPlacements(response.body);
}
