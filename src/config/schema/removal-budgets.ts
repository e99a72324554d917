/** How many nodes may be removed within the removal window: by number or percent, for the cluster or each pool, for some reasons. */
import * as z from 'zod';
import { REMOVAL_CAUSES } from '../../domain/plan.ts';
import type { RemovalBudget } from '../../domain/policy.ts';
import { MAX_CLUSTER_NODES } from '../../domain/platform-limits.ts';
import { wholeNumber } from './value-types.ts';

const FORMS =
  'a list of {nodes: 5} or {percent: 10}, each also with per: pool, and reasons: [empty, underutilized, unready, sick, repacked]';
const REASONS = `a list of reasons: ${REMOVAL_CAUSES.join(', ')}`;

const budget = z
  .strictObject(
    {
      nodes: wholeNumber(0, MAX_CLUSTER_NODES).optional(),
      percent: wholeNumber(0, 100).optional(),
      per: z.enum(['cluster', 'pool'], { error: 'cluster or pool' }).default('cluster'),
      reasons: z
        .array(z.enum(REMOVAL_CAUSES, { error: REASONS }), { error: REASONS })
        .min(1, { error: REASONS })
        .optional(),
    },
    { error: FORMS },
  )
  .transform(({ nodes, percent, per, reasons }, context): RemovalBudget => {
    const causes = reasons === undefined ? REMOVAL_CAUSES : [...new Set(reasons)];
    if (nodes !== undefined && percent === undefined) return { unit: 'nodes', amount: nodes, per, causes };
    if (percent !== undefined && nodes === undefined) return { unit: 'percent', amount: percent, per, causes };
    context.addIssue({ code: 'custom', message: FORMS });
    return z.NEVER;
  });

export const removalBudgets = z.array(budget, { error: FORMS });
