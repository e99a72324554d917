import { z } from 'zod';
import { plan, type Files } from './support.ts';

const SHAPE = z.object({
  scaleUp: z.object({
    increases: z.array(z.object({ group: z.string(), from: z.number(), to: z.number(), pods: z.array(z.string()) })),
    helpless: z.array(z.object({ pod: z.string(), verdict: z.string() })),
    fits: z.array(z.object({ pod: z.string(), node: z.string() })),
  }),
});

/**
 * Plans the files `c` and `p`. Returns `a 0->1` for every increase, `pod@node` for every fit, `pod verdict` for every other
 * pod, or the error.
 */
export async function planOutcome(files: Files, ...argv: readonly string[]): Promise<readonly string[]> {
  const { code, out, err } = await plan(['--cluster', 'c', '--pools', 'p', '--json', ...argv], files);
  if (code !== 0) return [err.trim()];
  const { scaleUp } = SHAPE.parse(JSON.parse(out));
  return [
    ...scaleUp.increases.map(({ group, from, to }) => `${group} ${from}->${to}`),
    ...scaleUp.fits.map(({ pod, node }) => `${pod.replace('default/', '')}@${node}`),
    ...scaleUp.helpless.map(({ pod, verdict }) => `${pod.replace('default/', '')} ${verdict}`),
  ];
}
